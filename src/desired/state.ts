import type { App } from './app.ts';
import type { DeviceGroup } from './device-group.ts';
import {
  compareDiagnostics,
  type Diagnostic,
  inFile,
  type Severity,
  type TextProblem,
} from './diagnostic.ts';
import { Listing } from './listing.ts';
import { type Kind, keyOf } from './name.ts';
import type { Content, ParsedFile } from './parse.ts';
import type { Position } from './yaml/document.ts';

/** One file of the folder. `blob` names its bytes: equal blobs are equal bytes. */
export type StateFile = { path: string; blob: string } & (
  | { kind: Kind; name: string; parsed: ParsedFile }
  | { kind: null; problem: TextProblem; severity: Severity }
);

/** A change of one file; `file` is null where it went away. */
export interface FileChange {
  path: string;
  file: StateFile | null;
}

/** An object that has a file. Without `content` the file (or one of two) is invalid: present, but unknown. */
export interface DesiredObject<C extends Content = Content> {
  path: string;
  blob: string;
  content: C | undefined;
  /** Places of a group's apps in its file, in their order. */
  members: readonly Position[];
}

/**
 * What a folder of files means at one revision, kept up to date file by file, so that a change costs what
 * changed and not what is there.
 */
export class DesiredState {
  readonly #files = new Map<string, StateFile>();
  readonly #paths = new Map<string, string[]>();
  readonly #listing = new Listing();
  readonly #faulty = new Set<string>();

  /** Whether no file stands for an object, valid or not. */
  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** Keys of all objects that have a file. */
  keys(): IterableIterator<string> {
    return this.#paths.keys();
  }

  /** The files' paths and blobs, for comparing with another revision. */
  files(): IterableIterator<StateFile> {
    return this.#files.values();
  }

  file(path: string): StateFile | undefined {
    return this.#files.get(path);
  }

  /** Paths of the files that claim this name; more than one is a problem of each. */
  pathsOf(kind: Kind, name: string): readonly string[] {
    return this.#paths.get(keyOf(kind, name)) ?? [];
  }

  app(name: string): DesiredObject<App> | undefined {
    return this.#find('app', name) as DesiredObject<App> | undefined;
  }

  group(name: string): DesiredObject<DeviceGroup> | undefined {
    return this.#find('device_group', name) as DesiredObject<DeviceGroup> | undefined;
  }

  /** Names of the groups whose valid files list this app. */
  groupsListing(app: string): Iterable<string> {
    return this.#listing.of(app);
  }

  /** Applies changes of files; tells which objects (keys) may mean something else now. */
  apply(changes: Iterable<FileChange>): Set<string> {
    const touched = new Set<string>();
    for (const { path, file } of changes) {
      for (const key of [this.#remove(path), file === null ? undefined : this.#add(file)]) {
        if (key !== undefined) touched.add(key);
      }
    }
    return touched;
  }

  /** Runs `look` on the state as it would be with these changes. `look` must not wait for anything. */
  preview<T>(changes: readonly FileChange[], look: (touched: ReadonlySet<string>) => T): T {
    return this.trial((keep) => look(keep(changes)));
  }

  /**
   * Runs `work` on a state that it changes on its way, change upon change; afterwards all is as it was. `work` must not
   * wait for anything.
   */
  trial<T>(work: (keep: (changes: readonly FileChange[]) => ReadonlySet<string>) => T): T {
    const before = new Map<string, StateFile | null>();
    const keep = (changes: readonly FileChange[]): Set<string> => {
      for (const { path } of changes) {
        if (!before.has(path)) before.set(path, this.#files.get(path) ?? null);
      }
      return this.apply(changes);
    };
    try {
      return work(keep);
    } finally {
      this.apply(Array.from(before, ([path, file]) => ({ path, file })));
    }
  }

  /** Every problem that the files have in themselves, in order. */
  problems(): Diagnostic[] {
    return [...this.#faulty].flatMap((path) => this.#problemsOf(path)).sort(compareDiagnostics);
  }

  /** The problems of the files of one object. */
  problemsOf(kind: Kind, name: string): Diagnostic[] {
    return this.pathsOf(kind, name).flatMap((path) => this.#problemsOf(path));
  }

  #find(kind: Kind, name: string): DesiredObject | undefined {
    const paths = this.#paths.get(keyOf(kind, name));
    const file = paths?.[0] === undefined ? undefined : this.#files.get(paths[0]);
    if (paths === undefined || file === undefined || file.kind === null) return undefined;
    const parsed = file.parsed;
    const valid = paths.length === 1 && parsed.ok;
    return {
      path: file.path,
      blob: file.blob,
      content: valid ? parsed.content : undefined,
      members: valid ? parsed.members : [],
    };
  }

  #add(file: StateFile): string | undefined {
    this.#files.set(file.path, file);
    if (file.kind === null) {
      this.#faulty.add(file.path);
      return undefined;
    }
    const key = keyOf(file.kind, file.name);
    const paths = [...(this.#paths.get(key) ?? []), file.path].sort();
    this.#paths.set(key, paths);
    this.#listMembers(file.path);
    this.#markFaulty(paths);
    return key;
  }

  #remove(path: string): string | undefined {
    const file = this.#files.get(path);
    if (file === undefined) return undefined;
    this.#files.delete(path);
    this.#faulty.delete(path);
    if (file.kind === null) return undefined;
    const key = keyOf(file.kind, file.name);
    const paths = (this.#paths.get(key) ?? []).filter((other) => other !== path);
    if (paths.length === 0) this.#paths.delete(key);
    else this.#paths.set(key, paths);
    for (const app of membersOf(file)) this.#listing.remove(app, file.name);
    for (const twin of paths) this.#listMembers(twin);
    this.#markFaulty(paths);
    return key;
  }

  #listMembers(path: string): void {
    const file = this.#files.get(path);
    if (file === undefined || file.kind === null) return;
    for (const app of membersOf(file)) this.#listing.add(app, file.name);
  }

  #markFaulty(paths: readonly string[]): void {
    for (const path of paths) {
      const file = this.#files.get(path);
      const valid = file !== undefined && file.kind !== null && file.parsed.ok && paths.length === 1;
      if (valid) this.#faulty.delete(path);
      else this.#faulty.add(path);
    }
  }

  #problemsOf(path: string): Diagnostic[] {
    const file = this.#files.get(path);
    if (file === undefined) return [];
    if (file.kind === null) return [inFile(path, file.problem, file.severity)];
    const own = file.parsed.ok ? [] : file.parsed.problems.map((problem) => inFile(path, problem));
    const others = this.pathsOf(file.kind, file.name).filter((other) => other !== path);
    if (others.length === 0) return own;
    const message = `the name "${file.name}" is also that of ${others.join(', ')}; keep one of these files`;
    return [...own, inFile(path, { line: 1, column: 1, code: 'name-duplicate', message })];
  }
}

function membersOf(file: StateFile): readonly string[] {
  if (file.kind !== 'device_group' || !file.parsed.ok) return [];
  return (file.parsed.content as DeviceGroup).apps;
}
