import type { App } from '../protocol/app.ts';
import type { Device } from '../protocol/device-fields.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { type Kind, keyOf } from '../protocol/name.ts';
import { type Content, namedIn } from './content.ts';
import { Holders } from './holders.ts';
import { MapOver, type Table } from './map-over.ts';
import { NO_POSITIONS, type ParsedFile } from './parse.ts';
import {
  compareProblems,
  fileProblem,
  type Problem,
  type Severity,
  type TextProblem,
  withFile,
} from './problem.ts';
import { runToEnd } from './run-to-end.ts';
import type { Position } from './yaml/document.ts';

/** One file of the folder. `blob` is the id of its bytes: equal ids mean equal bytes. */
export type StateFile = { path: string; blob: string } & (
  | { kind: Kind; name: string; parsed: ParsedFile }
  | { kind: null; problem: TextProblem; severity: Severity }
);

/** A change of one file; `file` is null if it was removed. */
export interface FileChange {
  path: string;
  file: StateFile | null;
}

/**
 * An object that has a file. Its `content` is undefined if it is unknown: the file is invalid, or a second file has the same
 * name.
 */
export interface DesiredObject<C extends Content = Content> {
  path: string;
  blob: string;
  content: C | undefined;
  /** The position in its file of each object that it names. */
  memberPositions: readonly Position[];
}

type HoldersOf = Readonly<Record<Exclude<Kind, 'device'>, Holders>>;

/** How many files have their problems merged into the list at once: some milliseconds, even with 100,000 other files. */
const FILES_OF_A_PIECE = 2000;

/**
 * How many of the other files with the same name a problem lists. Without a limit, ten thousand files that are all called
 * `app.yaml`, each in its own folder, would have problems of 3 GB.
 */
const MOST_TWINS = 3;

/**
 * The objects and problems in a folder of files at one revision. It is updated file by file, so that the cost of a change
 * depends on the size of the change and not on that of the folder.
 */
export class DesiredState {
  /** By path. */
  #files: Table<string, StateFile> = new Map();
  /** By key: the sorted paths of the files that claim the name. */
  #paths: Table<string, string[]> = new Map();
  /** The objects whose valid files name one of a kind. */
  #holders: HoldersOf = { app: new Holders(), device_group: new Holders() };
  /** Keys that lost one of several files. What it named is no longer listed, although the remaining files can name it. */
  readonly #unlisted = new Set<string>();
  /** Paths of the files that have problems. */
  #faulty = new Set<string>();
  /** The problems at the last listing, in order. */
  #problems: readonly Problem[] = [];
  /** The paths whose problems may have changed since. */
  #changed = new Set<string>();
  /** Keys that several files claim and whose files changed since: the problems of each of these may have changed. */
  #contested = new Set<string>();

  /** Returns a copy, to try changes in. Some milliseconds of work for ten thousand files. */
  copy(): DesiredState {
    this.#relistMembers();
    return this.#with(new Map(this.#files), new Map(this.#paths), 'copy');
  }

  /**
   * Returns a state over this one, to try changes in: they are not seen here. What changes here is seen there, and can
   * spoil it: then nothing that was read there holds. Takes no longer for more files, except for those with problems.
   */
  over(): DesiredState {
    this.#relistMembers();
    return this.#with(new MapOver(this.#files), new MapOver(this.#paths), 'over');
  }

  #with(
    files: Table<string, StateFile>,
    paths: Table<string, string[]>,
    make: 'copy' | 'over',
  ): DesiredState {
    const copy = new DesiredState();
    copy.#files = files;
    copy.#paths = paths;
    const { app, device_group } = this.#holders;
    copy.#holders = { app: app[make](), device_group: device_group[make]() };
    copy.#faulty = new Set(this.#faulty);
    copy.#problems = this.#problems;
    copy.#changed = new Set(this.#changed);
    copy.#contested = new Set(this.#contested);
    return copy;
  }

  /** Whether there is no file of an object, valid or not. */
  get isEmpty(): boolean {
    return this.#paths.size === 0;
  }

  /** Keys of all objects that have a file. */
  keys(): IterableIterator<string> {
    return this.#paths.keys();
  }

  /** Every file of an object, and every other file with a problem. */
  files(): IterableIterator<StateFile> {
    return this.#files.values();
  }

  file(path: string): StateFile | undefined {
    return this.#files.get(path);
  }

  /** Returns the sorted paths of the files that claim this name. If there are several, each has a problem. */
  pathsOf(kind: Kind, name: string): readonly string[] {
    return this.#paths.get(keyOf(kind, name)) ?? [];
  }

  /** Returns an object; undefined if no file claims its name. */
  object(kind: Kind, name: string): DesiredObject | undefined {
    const paths = this.pathsOf(kind, name);
    const file = paths[0] === undefined ? undefined : this.#files.get(paths[0]);
    if (file === undefined || file.kind === null) return undefined;
    const { path, blob, parsed } = file;
    const isKnown = paths.length === 1 && parsed.ok;
    return isKnown
      ? { path, blob, content: parsed.content, memberPositions: parsed.memberPositions }
      : { path, blob, content: undefined, memberPositions: NO_POSITIONS };
  }

  app(name: string): DesiredObject<App> | undefined {
    return this.object('app', name) as DesiredObject<App> | undefined;
  }

  group(name: string): DesiredObject<DeviceGroup> | undefined {
    return this.object('device_group', name) as DesiredObject<DeviceGroup> | undefined;
  }

  device(name: string): DesiredObject<Device> | undefined {
    return this.object('device', name) as DesiredObject<Device> | undefined;
  }

  /** Returns the names of the groups whose valid files list this app. */
  groupsListing(app: string): Iterable<string> {
    this.#relistMembers();
    return this.#holders.app.of(app);
  }

  /** Returns the names of the devices whose valid files name this group. */
  devicesIn(group: string): Iterable<string> {
    this.#relistMembers();
    return this.#holders.device_group.of(group);
  }

  /** Applies changes of files. Returns the keys of the objects that may have changed. */
  apply(changes: Iterable<FileChange>): Set<string> {
    const touched = new Set<string>();
    for (const { path, file } of changes) {
      for (const key of [this.#remove(path), file === null ? undefined : this.#add(file)]) {
        if (key !== undefined) touched.add(key);
      }
    }
    return touched;
  }

  /**
   * Returns the problems of all files, in order, without those of references between files, such as unknown apps. It is
   * the same list until a file with problems changes.
   */
  problems(): readonly Problem[] {
    return runToEnd(this.listingProblems());
  }

  /** `problems` in pieces, so that callers can let other work run: every file of a large repository can have problems. */
  *listingProblems(): Generator<undefined, readonly Problem[], undefined> {
    for (const key of this.#contested) this.#markFiles(this.#paths.get(key) ?? []);
    this.#contested.clear();
    while (this.#changed.size > 0) {
      const paths = new Set([...this.#changed].slice(0, FILES_OF_A_PIECE));
      const found = Array.from(paths, (path) =>
        this.#faulty.has(path) ? this.#problemsOf(path) : [],
      ).flat();
      this.#problems = merge(
        this.#problems.filter(({ file }) => !paths.has(file)),
        found.sort(compareProblems),
      );
      for (const path of paths) this.#changed.delete(path);
      yield;
    }
    return this.#problems;
  }

  /** Returns the problems of the files of one object. */
  problemsOf(kind: Kind, name: string): Problem[] {
    return this.pathsOf(kind, name).flatMap((path) => this.#problemsOf(path));
  }

  #add(file: StateFile): string | undefined {
    this.#files.set(file.path, file);
    if (file.kind === null) {
      this.#mark(file.path, true);
      return undefined;
    }
    const key = keyOf(file.kind, file.name);
    const others = this.#paths.get(key) ?? [];
    const index = others.findLastIndex((other) => other < file.path) + 1;
    this.#listMembers(file.path);
    this.#setPaths(key, others.toSpliced(index, 0, file.path));
    return key;
  }

  #remove(path: string): string | undefined {
    const file = this.#files.get(path);
    if (file === undefined) return undefined;
    this.#files.delete(path);
    this.#mark(path, false);
    if (file.kind === null) return undefined;
    const key = keyOf(file.kind, file.name);
    const claimed = this.#paths.get(key) ?? [];
    const paths = claimed.toSpliced(claimed.indexOf(path), 1);
    const { kind, names } = namedInFile(file);
    for (const name of names) this.#holders[kind].remove(name, file.name);
    if (paths.length > 0 && names.length > 0) this.#unlisted.add(key);
    this.#setPaths(key, paths);
    return key;
  }

  #setPaths(key: string, paths: string[]): void {
    if (paths.length === 0) this.#paths.delete(key);
    else this.#paths.set(key, paths);
    if (paths.length > 1) this.#contested.add(key);
    else this.#markFiles(paths);
  }

  /** Lists what the remaining files name again: once for each name, however many of its files were removed. */
  #relistMembers(): void {
    for (const key of this.#unlisted) for (const path of this.#paths.get(key) ?? []) this.#listMembers(path);
    this.#unlisted.clear();
  }

  #listMembers(path: string): void {
    const file = this.#files.get(path);
    if (file === undefined || file.kind === null) return;
    const { kind, names } = namedInFile(file);
    for (const name of names) this.#holders[kind].add(name, file.name);
  }

  /** Notes which files have problems. `paths` are all files that claim one name. */
  #markFiles(paths: readonly string[]): void {
    for (const path of paths) {
      const file = this.#files.get(path);
      const valid = file !== undefined && file.kind !== null && file.parsed.ok && paths.length === 1;
      this.#mark(path, !valid);
    }
  }

  #mark(path: string, isFaulty: boolean): void {
    if (isFaulty) this.#faulty.add(path);
    else if (!this.#faulty.delete(path)) return;
    this.#changed.add(path);
  }

  #problemsOf(path: string): Problem[] {
    const file = this.#files.get(path);
    if (file === undefined) return [];
    if (file.kind === null) return [withFile(path, file.problem, file.severity)];
    const own = file.parsed.ok ? [] : file.parsed.problems.map((problem) => withFile(path, problem));
    const paths = this.pathsOf(file.kind, file.name);
    if (paths.length < 2) return own;
    const twins = paths.slice(0, MOST_TWINS + 1).filter((other) => other !== path);
    const shown =
      twins.slice(0, MOST_TWINS).join(', ') + (paths.length > MOST_TWINS + 1 ? ' and others' : '');
    const message = `duplicate name "${file.name}", also used by ${shown}; rename or remove all but one of these files`;
    return [...own, withFile(path, fileProblem('name-duplicate', message))];
  }
}

/** Merges two sorted lists into one. */
function merge(some: readonly Problem[], others: readonly Problem[]): Problem[] {
  const merged: Problem[] = [];
  let next = 0;
  for (const problem of some) {
    for (let other = others[next]; other && compareProblems(other, problem) < 0; other = others[next]) {
      merged.push(other);
      next += 1;
    }
    merged.push(problem);
  }
  return merged.concat(others.slice(next));
}

/** The objects that a file names. */
function namedInFile(file: StateFile): ReturnType<typeof namedIn> {
  return namedIn(file.kind !== null && file.parsed.ok ? file.parsed.content : null);
}
