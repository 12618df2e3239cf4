import { resolve } from 'node:path';
import { foundOrRequired, works } from '../support/tools.ts';
import type { DiskCall } from './disk-model.ts';

/** What processes did, in the order in which it was done: changes of files, and answers to requests. */
export type Traced =
  | DiskCall
  | { kind: 'open'; path: string; isCut: boolean }
  | { kind: 'answer'; text: string };

/** All that changes files, and what moves the place at which a process writes next. */
const CALLS =
  'openat,open,creat,read,lseek,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,sync_file_range,copy_file_range,sendfile';

/** Runs a program and writes what it and its children do to files into `file`. */
export function straceTo(file: string): string[] {
  return ['strace', '-f', '-y', '-s', '100000000', '-e', 'signal=none', '-e', `trace=${CALLS}`, '-o', file];
}

/** Whether processes can be traced here: strace is installed, and the machine lets us. */
export function canTrace(): boolean {
  return foundOrRequired('strace', works('strace', ['-f', '-o', '/dev/null', 'true']));
}

/**
 * The calls of all processes in the order in which they came to their end, each with its process, and how many had come to theirs when
 * it began.
 */
export function completedCalls(log: string): [id: string, call: string, since: number][] {
  const begun = new Map<string, [call: string, since: number]>();
  const calls: [string, string, number][] = [];
  for (const line of log.split('\n')) {
    const gap = line.indexOf(' ');
    const id = line.slice(0, gap);
    const call = line.slice(gap).trimStart();
    if (call.endsWith('<unfinished ...>'))
      begun.set(id, [call.slice(0, -'<unfinished ...>'.length).trimEnd(), calls.length]);
    else if (call.startsWith('<... ')) {
      const [start, since] = begun.get(id) ?? ['', calls.length];
      calls.push([id, start + call.slice(call.indexOf(' resumed>') + 9), since]);
    } else if (call !== '') calls.push([id, call, calls.length]);
  }
  return calls;
}

/** Name, arguments, result, and the file that was opened. */
const CALL = /^(\w+)\((.*)\)\s+= (-?\d+)(?:<([^>]*)>)?[^"]*$/s;
/** A descriptor and its file; one that was removed meanwhile has nothing to say. */
const FILE = /^(\d+)<([^>]*)>(?!\(deleted\))/;
const TEXT = /"((?:[^"\\]|\\.)*)"/s;
const PATH = /(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"/gs;
const ANSWER = /^writev?\(\d+<(?:socket|TCP)/;

/** Reads the log of `straceTo`; only what is below `root`. Throws for a call that changes files there in another way. */
export function readLog(log: string, root: string): Traced[] {
  const places = new Places();
  const names = new Names();
  return completedCalls(log).flatMap(([id, line, since], index) => {
    const [, name = '', args = '', result = '-1', opened] = CALL.exec(line) ?? [];
    places.note(id, args);
    if (result.startsWith('-')) return [];
    if (ANSWER.test(line)) return answer(args);
    const [, fd = '', file] = FILE.exec(args) ?? [];
    const path = /^open|^creat$/.test(name) ? opened : file;
    if (path !== undefined && isBelow(root, path))
      return names.after(since, onFile({ name, args, result: Number(result), path, fd }, places));
    const paths = places.pathsOf(id, args).filter((one) => isBelow(root, one));
    return names.note(index, onNames(name, paths));
  });
}

/** What files are called: a call names its file when it begins, and another process can give that another name until it ends. */
class Names {
  readonly #changes: { at: number; from: string; to: string | null }[] = [];

  note(at: number, calls: Traced[]): Traced[] {
    for (const call of calls) {
      if (call.kind === 'rename' || call.kind === 'link')
        this.#changes.push({ at, from: call.path, to: call.to });
      else if (call.kind === 'remove') this.#changes.push({ at, from: call.path, to: null });
    }
    return calls;
  }

  /** The same calls, on what their files are called when they end; of a file that is gone there is nothing to say. */
  after(since: number, calls: Traced[]): Traced[] {
    return calls.flatMap((call): Traced[] => {
      if (call.kind !== 'sync' && call.kind !== 'write' && call.kind !== 'resize') return [call];
      const changes = this.#changes.filter(({ at, from }) => at >= since && from === call.path);
      const path = changes.findLast(({ to }) => to !== null)?.to ?? (changes.length > 0 ? null : call.path);
      return path === null ? [] : [{ ...call, path }];
    });
  }
}

/** SQLite maps that file, and makes it anew after a loss of power. */
function isBelow(root: string, path: string): boolean {
  return (path === root || path.startsWith(`${root}/`)) && !path.endsWith('-shm');
}

function answer(args: string): Traced[] {
  const text = unquote(TEXT.exec(args)?.[1] ?? '').toString('latin1');
  return text.startsWith('HTTP/1.1 ') ? [{ kind: 'answer', text }] : [];
}

/** Where each process is, and how far it is in each file. */
class Places {
  readonly #folders = new Map<string, string>();
  readonly #offsets = new Map<string, number | 'end'>();

  note(id: string, args: string): void {
    const folder = /AT_FDCWD<([^>]*)>/.exec(args)?.[1];
    if (folder !== undefined) this.#folders.set(id, folder);
  }

  pathsOf(id: string, args: string): string[] {
    return Array.from(args.matchAll(PATH), ([, folder, text = '']) =>
      resolve(folder ?? this.#folders.get(id) ?? '/', unquote(text).toString()),
    );
  }

  set(key: string, at: number | 'end'): void {
    this.#offsets.set(key, at);
  }

  /** Goes on by `size` bytes; returns where that began. */
  advance(key: string, size: number): number | 'end' {
    const at = this.#offsets.get(key) ?? 0;
    if (at !== 'end') this.#offsets.set(key, at + size);
    return at;
  }
}

interface FileCall {
  name: string;
  args: string;
  result: number;
  path: string;
  fd: string;
}

function onFile({ name, args, result, path, fd }: FileCall, places: Places): Traced[] {
  const key = `${fd} ${path}`;
  const bytes = (): Buffer => unquote(TEXT.exec(args)?.[1] ?? '').subarray(0, result);
  const last = (): number => Number(args.slice(args.lastIndexOf(' ')));
  switch (name) {
    case 'openat':
      places.set(`${result} ${path}`, args.includes('O_APPEND') ? 'end' : 0);
      return /O_CREAT|O_TRUNC/.test(args) ? [{ kind: 'open', path, isCut: args.includes('O_TRUNC') }] : [];
    case 'read':
      places.advance(key, result);
      return [];
    case 'lseek':
      places.set(key, result);
      return [];
    case 'write':
      return [{ kind: 'write', path, at: places.advance(key, result), bytes: bytes() }];
    case 'pwrite64':
      return [{ kind: 'write', path, at: last(), bytes: bytes() }];
    case 'ftruncate':
      return [{ kind: 'resize', path, size: last() }];
    case 'fsync':
    case 'fdatasync':
      return [{ kind: 'sync', path }];
    default:
      throw new Error(`${name} of ${path} is not known here`);
  }
}

/** Calls that name no file below the folder, or change none: of others' files, and opens that made nothing. */
const HARMLESS = /^(open|read$|lseek$|write$|writev$|pwrite64$|sendfile$)/;

function onNames(name: string, [path, to]: readonly string[]): Traced[] {
  if (path === undefined || HARMLESS.test(name)) return [];
  // git makes a link where it makes a repository, to see whether it can, and removes it.
  if (/^symlink/.test(name)) return [{ kind: 'open', path: to ?? path, isCut: false }];
  if (/^rename/.test(name) && to !== undefined) return [{ kind: 'rename', path, to }];
  if (/^link/.test(name) && to !== undefined) return [{ kind: 'link', path, to }];
  if (/^(unlink|rmdir)/.test(name)) return [{ kind: 'remove', path }];
  if (/^mkdir/.test(name)) return [{ kind: 'mkdir', path }];
  throw new Error(`${name} of ${path} is not known here`);
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, v: 11, f: 12 };

/** strace writes strings as C does; the log is read byte by byte. */
function unquote(text: string): Buffer {
  const plain = text.replace(/\\([0-7]{1,3}|.)/gs, (_, code: string) => {
    const byte = /^[0-7]/.test(code) ? Number.parseInt(code, 8) : ESCAPES[code];
    return byte === undefined ? code : String.fromCharCode(byte);
  });
  return Buffer.from(plain, 'latin1');
}
