import { resolve } from 'node:path';
import { foundOrRequired, works } from '../support/tools.ts';
import type { DiskCall } from './disk-model.ts';

/** A traced call: a change of a file, the opening of one, or the reply to a request. */
export type Traced =
  | DiskCall
  | { kind: 'open'; path: string; isCut: boolean }
  | { kind: 'answer'; text: string };

/** The calls that change files or move the offset at which a process writes next. */
const CALLS =
  'openat,open,creat,read,lseek,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,sync_file_range,copy_file_range,sendfile';

/** The command that runs a program and logs to `file` what it and its children do to files. */
export function straceTo(file: string): string[] {
  return ['strace', '-f', '-y', '-s', '100000000', '-e', 'signal=none', '-e', `trace=${CALLS}`, '-o', file];
}

/** Whether processes can be traced: strace is installed and permitted. */
export function canTrace(): boolean {
  return foundOrRequired('strace', works('strace', ['-f', '-o', '/dev/null', 'true']));
}

/**
 * Returns the calls of all processes in the order in which they ended, each with its process and the number of calls that had ended
 * when it began.
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

/** A call: its name, arguments and result, and the file that it opened. */
const CALL = /^(\w+)\((.*)\)\s+= (-?\d+)(?:<([^>]*)>)?[^"]*$/s;
/** A descriptor and its file, unless that was removed meanwhile. */
const FILE = /^(\d+)<([^>]*)>(?!\(deleted\))/;
const TEXT = /"((?:[^"\\]|\\.)*)"/s;
const PATH = /(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"/gs;
const ANSWER = /^writev?\(\d+<(?:socket|TCP)/;

/** Reads the calls on files below `root`, and the replies, from a log of `straceTo`. Throws for a change of a file that it does not know. */
export function readLog(log: string, root: string): Traced[] {
  const positions = new Positions();
  const names = new Names();
  return completedCalls(log).flatMap(([id, line, since], index) => {
    const [, name = '', args = '', result = '-1', opened] = CALL.exec(line) ?? [];
    positions.note(id, args);
    if (result.startsWith('-')) return [];
    if (ANSWER.test(line)) return answer(args);
    const [, fd = '', file] = FILE.exec(args) ?? [];
    const path = /^open|^creat$/.test(name) ? opened : file;
    if (path !== undefined && isBelow(root, path))
      return names.after(since, onFile({ name, args, result: Number(result), path, fd }, positions));
    const paths = positions.pathsOf(id, args).filter((one) => isBelow(root, one));
    return names.note(index, onNames(name, paths));
  });
}

/** Renames of files: a call names its file when it begins, and another process can rename the file before the call ends. */
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

  /** Returns the calls with the names that their files have when they end; leaves out those of removed files. */
  after(since: number, calls: Traced[]): Traced[] {
    return calls.flatMap((call): Traced[] => {
      if (call.kind !== 'sync' && call.kind !== 'write' && call.kind !== 'resize') return [call];
      const changes = this.#changes.filter(({ at, from }) => at >= since && from === call.path);
      const path = changes.findLast(({ to }) => to !== null)?.to ?? (changes.length > 0 ? null : call.path);
      return path === null ? [] : [{ ...call, path }];
    });
  }
}

/** Leaves out the shared memory of SQLite, which makes that file again after a loss of power. */
function isBelow(root: string, path: string): boolean {
  return (path === root || path.startsWith(`${root}/`)) && !path.endsWith('-shm');
}

function answer(args: string): Traced[] {
  const text = unquote(TEXT.exec(args)?.[1] ?? '').toString('latin1');
  return text.startsWith('HTTP/1.1 ') ? [{ kind: 'answer', text }] : [];
}

/** The current folder of each process, and the offset of each open file. */
class Positions {
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

  /** Moves an offset by `size` bytes; returns the one before. */
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

function onFile({ name, args, result, path, fd }: FileCall, positions: Positions): Traced[] {
  const key = `${fd} ${path}`;
  const bytes = (): Buffer => unquote(TEXT.exec(args)?.[1] ?? '').subarray(0, result);
  const last = (): number => Number(args.slice(args.lastIndexOf(' ')));
  switch (name) {
    case 'openat':
      positions.set(`${result} ${path}`, args.includes('O_APPEND') ? 'end' : 0);
      return /O_CREAT|O_TRUNC/.test(args) ? [{ kind: 'open', path, isCut: args.includes('O_TRUNC') }] : [];
    case 'read':
      positions.advance(key, result);
      return [];
    case 'lseek':
      positions.set(key, result);
      return [];
    case 'write':
      return [{ kind: 'write', path, at: positions.advance(key, result), bytes: bytes() }];
    case 'pwrite64':
      return [{ kind: 'write', path, at: last(), bytes: bytes() }];
    case 'ftruncate':
      return [{ kind: 'resize', path, size: last() }];
    case 'fsync':
    case 'fdatasync':
      return [{ kind: 'sync', path }];
    default:
      throw new Error(`${name} of ${path} is not known`);
  }
}

/** Calls that change nothing below the folder: those on other files, and opens that create nothing. */
const HARMLESS = /^(open|read$|lseek$|write$|writev$|pwrite64$|sendfile$)/;

function onNames(name: string, [path, to]: readonly string[]): Traced[] {
  if (path === undefined || HARMLESS.test(name)) return [];
  // To test whether it can, `git init` makes a link and removes it.
  if (/^symlink/.test(name)) return [{ kind: 'open', path: to ?? path, isCut: false }];
  if (/^rename/.test(name) && to !== undefined) return [{ kind: 'rename', path, to }];
  if (/^link/.test(name) && to !== undefined) return [{ kind: 'link', path, to }];
  if (/^(unlink|rmdir)/.test(name)) return [{ kind: 'remove', path }];
  if (/^mkdir/.test(name)) return [{ kind: 'mkdir', path }];
  throw new Error(`${name} of ${path} is not known`);
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, v: 11, f: 12 };

/** Decodes a string of the log, which is escaped as in C and read as latin1. */
function unquote(text: string): Buffer {
  const plain = text.replace(/\\([0-7]{1,3}|.)/gs, (_, code: string) => {
    const byte = /^[0-7]/.test(code) ? Number.parseInt(code, 8) : ESCAPES[code];
    return byte === undefined ? code : String.fromCharCode(byte);
  });
  return Buffer.from(plain, 'latin1');
}
