import type { App } from './app.ts';
import { type Content, membersOf } from './content.ts';
import type { DeviceGroup } from './device-group.ts';
import { GroupsByApp } from './groups-by-app.ts';
import { type Kind, keyOf } from './name.ts';
import { NO_PLACES, type ParsedFile } from './parse.ts';
import { compareProblems, inFile, type Problem, type Severity, type TextProblem } from './problem.ts';
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

/**
 * An object that has a file. Its `content` is undefined while that is not known: the file is invalid, or a second file
 * has the same name.
 */
export interface DesiredObject<C extends Content = Content> {
  path: string;
  blob: string;
  content: C | undefined;
  /** Where each app of a group stands in its file; empty for an app. */
  memberPlaces: readonly Position[];
}

/**
 * What a folder of files means at one revision. It is updated file by file, so that the cost of a change depends on the
 * size of the change and not on that of the folder.
 */
export class DesiredState {
  /** By path. */
  readonly #files = new Map<string, StateFile>();
  /** By key: the paths of the files that claim the name. */
  readonly #paths = new Map<string, string[]>();
  readonly #groupsByApp = new GroupsByApp();
  /** Paths of the files that have problems. */
  readonly #faulty = new Set<string>();

  /** Whether no file stands for an object, valid or not. */
  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** Keys of all objects that have a file. */
  keys(): IterableIterator<string> {
    return this.#paths.keys();
  }

  /** Every file that means something, or has a problem. */
  files(): IterableIterator<StateFile> {
    return this.#files.values();
  }

  file(path: string): StateFile | undefined {
    return this.#files.get(path);
  }

  /** Paths of the files that claim this name, sorted; if there are several, each has a problem. */
  pathsOf(kind: Kind, name: string): readonly string[] {
    return this.#paths.get(keyOf(kind, name)) ?? [];
  }

  /** An object that has a file. */
  object(kind: Kind, name: string): DesiredObject | undefined {
    const paths = this.pathsOf(kind, name);
    const file = paths[0] === undefined ? undefined : this.#files.get(paths[0]);
    if (file === undefined || file.kind === null) return undefined;
    const { path, blob, parsed } = file;
    const isKnown = paths.length === 1 && parsed.ok;
    return isKnown
      ? { path, blob, content: parsed.content, memberPlaces: parsed.memberPlaces }
      : { path, blob, content: undefined, memberPlaces: NO_PLACES };
  }

  app(name: string): DesiredObject<App> | undefined {
    return this.object('app', name) as DesiredObject<App> | undefined;
  }

  group(name: string): DesiredObject<DeviceGroup> | undefined {
    return this.object('device_group', name) as DesiredObject<DeviceGroup> | undefined;
  }

  /** Names of the groups whose valid files list this app. */
  groupsListing(app: string): Iterable<string> {
    return this.#groupsByApp.of(app);
  }

  /** Applies changes of files. Returns the keys of the objects that may differ now. */
  apply(changes: Iterable<FileChange>): Set<string> {
    const touched = new Set<string>();
    for (const { path, file } of changes) {
      for (const key of [this.#remove(path), file === null ? undefined : this.#add(file)]) {
        if (key !== undefined) touched.add(key);
      }
    }
    return touched;
  }

  /** Calls `look` while the state has these changes, and takes them back. `look` must be synchronous. */
  preview<T>(changes: readonly FileChange[], look: (touched: ReadonlySet<string>) => T): T {
    return this.trial((keep) => look(keep(changes)));
  }

  /**
   * Calls `work`, which may change the state by calling `keep`, and takes all of its changes back in the end. `work` must
   * be synchronous.
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
  problems(): Problem[] {
    return [...this.#faulty].flatMap((path) => this.#problemsOf(path)).sort(compareProblems);
  }

  /** The problems of the files of one object. */
  problemsOf(kind: Kind, name: string): Problem[] {
    return this.pathsOf(kind, name).flatMap((path) => this.#problemsOf(path));
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
    for (const app of membersIn(file)) this.#groupsByApp.remove(app, file.name);
    // The files that are left may list some of the same apps.
    for (const twin of paths) this.#listMembers(twin);
    this.#markFaulty(paths);
    return key;
  }

  #listMembers(path: string): void {
    const file = this.#files.get(path);
    if (file === undefined || file.kind === null) return;
    for (const app of membersIn(file)) this.#groupsByApp.add(app, file.name);
  }

  #markFaulty(paths: readonly string[]): void {
    for (const path of paths) {
      const file = this.#files.get(path);
      const valid = file !== undefined && file.kind !== null && file.parsed.ok && paths.length === 1;
      if (valid) this.#faulty.delete(path);
      else this.#faulty.add(path);
    }
  }

  #problemsOf(path: string): Problem[] {
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

/** The apps that a file lists. */
function membersIn(file: StateFile): readonly string[] {
  return file.kind !== null && file.parsed.ok ? membersOf(file.parsed.content) : [];
}
