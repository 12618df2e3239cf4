import { basename, dirname } from 'node:path';

/** A call of a process that changes or syncs a file or folder; paths are absolute. */
export type DiskCall =
  | { kind: 'create' | 'mkdir' | 'remove'; path: string }
  | { kind: 'sync'; path: string }
  | { kind: 'write'; path: string; at: number | 'end'; bytes: Buffer }
  | { kind: 'resize'; path: string; size: number }
  | { kind: 'rename' | 'link'; path: string; to: string };

/** The contents of a folder by path: the bytes of each file, null for a folder. */
export type Tree = ReadonlyMap<string, Buffer | null>;

/** Returns whether the disk has a change that was not synced, by its number; of a change of bytes also by the path of the file. */
export type Luck = (change: number, path?: string) => boolean;

type Edit = Extract<DiskCall, { kind: 'write' | 'resize' }>;

interface FileNode {
  now: Bytes;
  durable: Bytes;
  /** The changes of the bytes since they were synced. */
  pending: Edit[];
}
interface Entry {
  node: Node | null;
  /** The number of the change that made it: an older change never replaces it. */
  since: number;
}
interface FolderNode {
  now: Map<string, Node>;
  durable: Map<string, Entry>;
}
type Node = FileNode | FolderNode;

/** Entries that change together or not at all, such as the two of a `rename`. */
interface Change {
  since: number;
  edits: { folder: FolderNode; name: string; node: Node | null }[];
}

/**
 * A model of a folder: what processes see of it, and what a loss of power leaves of it. The bytes of a file are safe once
 * the file is synced; its name, or the removal of the name, is safe once its folder is. Everything else may or may not have
 * reached the disk. A rename reaches it completely or not at all.
 */
export class Disk {
  readonly #root: string;
  readonly #top: FolderNode = emptyFolder();
  #changes: Change[] = [];
  #count = 0;

  /** `base` is on the disk already; each folder comes before its contents. */
  constructor(root: string, base: Tree) {
    this.#root = root;
    for (const [path, bytes] of base) {
      const [folder, name] = this.#locate(path);
      const node = bytes === null ? emptyFolder() : fileOf(bytes);
      folder.now.set(name, node);
      folder.durable.set(name, { node, since: 0 });
    }
  }

  /** Whether a path is on this disk. */
  holds(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`);
  }

  /** Makes a call. Throws if the file does not exist: then an earlier call is missing from the trace. */
  apply(call: DiskCall): void {
    if (call.kind === 'sync') this.#sync(this.#nodeAt(call.path));
    else if (call.kind === 'write' || call.kind === 'resize') this.#edit(call);
    else this.#change(this.#entriesOf(call));
  }

  #entriesOf(call: Exclude<DiskCall, { kind: 'sync' | 'write' | 'resize' }>): [string, Node | null][] {
    switch (call.kind) {
      case 'create':
        return [[call.path, fileOf(Buffer.alloc(0))]];
      case 'mkdir':
        return [[call.path, emptyFolder()]];
      case 'remove':
        return [[call.path, null]];
      case 'link':
        return [[call.to, this.#nodeAt(call.path)]];
      case 'rename':
        return [
          [call.path, null],
          [call.to, this.#nodeAt(call.path)],
        ];
    }
  }

  /** Whether processes see something at a path. */
  has(path: string): boolean {
    const [folder, name] = this.#locate(path);
    return folder.now.has(name);
  }

  /** Returns what processes see. */
  seen(): Tree {
    return flatten(
      this.#root,
      this.#top,
      (folder) => folder.now,
      (file) => file.now.copy().all(),
    );
  }

  /** Returns what a loss of power at this moment leaves. */
  survivors(luck: Luck): Tree {
    let number = 0;
    const folders = new Map<FolderNode, Map<string, Entry>>();
    const entriesOf = (folder: FolderNode): Map<string, Entry> => {
      const known = folders.get(folder) ?? new Map(folder.durable);
      folders.set(folder, known);
      return known;
    };
    for (const change of this.#changes) if (luck(number++)) settle(change, entriesOf);
    return flatten(
      this.#root,
      this.#top,
      (folder) => present(entriesOf(folder)),
      (file, path) => {
        const bytes = file.durable.copy();
        for (const edit of file.pending) if (luck(number++, path)) bytes.edit(edit);
        return bytes.all();
      },
    );
  }

  #change(entries: readonly (readonly [string, Node | null])[]): void {
    const edits = entries.map(([path, node]) => {
      const [folder, name] = this.#locate(path);
      if (node === null) folder.now.delete(name);
      else folder.now.set(name, node);
      return { folder, name, node };
    });
    this.#changes.push({ since: ++this.#count, edits });
  }

  #edit(edit: Edit): void {
    const node = this.#nodeAt(edit.path);
    if (!('pending' in node)) throw new Error(`${edit.path} is a folder`);
    node.now.edit(edit);
    node.pending.push(edit);
  }

  #sync(node: Node): void {
    if ('pending' in node) {
      for (const edit of node.pending) node.durable.edit(edit);
      node.pending = [];
      return;
    }
    const isHere = (change: Change): boolean => change.edits.some(({ folder }) => folder === node);
    for (const change of this.#changes.filter(isHere)) settle(change, (folder) => folder.durable);
    this.#changes = this.#changes.filter((change) => !isHere(change));
  }

  #nodeAt(path: string): Node {
    if (path === this.#root) return this.#top;
    const [folder, name] = this.#locate(path);
    const node = folder.now.get(name);
    if (node === undefined) throw new Error(`${path} does not exist`);
    return node;
  }

  #locate(path: string): [FolderNode, string] {
    const folder = this.#nodeAt(dirname(path));
    if ('pending' in folder) throw new Error(`${dirname(path)} is not a folder`);
    return [folder, basename(path)];
  }
}

/** The bytes of a file, changed in place: the log of a store has thousands of writes. */
class Bytes {
  #buffer: Buffer;
  #size: number;

  /** Takes over the buffer. */
  constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.#size = buffer.length;
  }

  all(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  copy(): Bytes {
    return new Bytes(Buffer.from(this.all()));
  }

  edit(edit: Edit): void {
    if (edit.kind === 'resize') {
      this.#resize(edit.size);
      return;
    }
    const from = edit.at === 'end' ? this.#size : edit.at;
    this.#resize(Math.max(this.#size, from + edit.bytes.length));
    edit.bytes.copy(this.#buffer, from);
  }

  #resize(size: number): void {
    if (size > this.#buffer.length) {
      const larger = Buffer.alloc(2 * size);
      this.all().copy(larger);
      this.#buffer = larger;
    }
    // What is beyond the end reads as zeros when the file grows again.
    if (size < this.#size) this.#buffer.fill(0, size, this.#size);
    this.#size = size;
  }
}

function fileOf(bytes: Buffer): FileNode {
  return { now: new Bytes(Buffer.from(bytes)), durable: new Bytes(Buffer.from(bytes)), pending: [] };
}

function emptyFolder(): FolderNode {
  return { now: new Map(), durable: new Map() };
}

function settle({ since, edits }: Change, entriesOf: (folder: FolderNode) => Map<string, Entry>): void {
  for (const { folder, name, node } of edits) {
    const entries = entriesOf(folder);
    if ((entries.get(name)?.since ?? 0) <= since) entries.set(name, { node, since });
  }
}

function present(entries: ReadonlyMap<string, Entry>): Map<string, Node> {
  const there = [...entries].flatMap(([name, { node }]) => (node === null ? [] : [[name, node] as const]));
  return new Map(there);
}

function flatten(
  path: string,
  folder: FolderNode,
  entriesOf: (folder: FolderNode) => ReadonlyMap<string, Node>,
  bytesOf: (file: FileNode, path: string) => Buffer,
): Map<string, Buffer | null> {
  const tree = new Map<string, Buffer | null>();
  for (const [name, node] of entriesOf(folder)) {
    const below = `${path}/${name}`;
    tree.set(below, 'pending' in node ? bytesOf(node, below) : null);
    if ('pending' in node) continue;
    for (const [one, bytes] of flatten(below, node, entriesOf, bytesOf)) tree.set(one, bytes);
  }
  return tree;
}
