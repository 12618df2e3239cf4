import { hash } from 'node:crypto';
import type { SectionText } from '../../../ids/ids-record.ts';
import { GitFailure } from '../process/run.ts';
import { type ObjectReader, openObjects } from '../read/objects.ts';
import type { Repository } from '../repository/repository.ts';

// Anyone who may push can write anything to the ref, so reading it is limited. Sizes are in bytes.

/** Of a commit, a tree, and a file that is read from each section. */
const MAX_HEADER = 2 ** 16;
/** Files of one section. */
const MAX_FILES = 300;
export const MAX_FILE = 2 ** 24;
/** Of all files of one section. */
export const MAX_TOTAL = 2 ** 26;
/** Sections of the record; a tree of `MAX_HEADER` has room for them. */
export const MAX_SECTIONS = 500;

export const FILE_NAME = /^[a-z0-9][a-z0-9.]{0,39}$/;
const SECTION_NAME = /^[0-9a-f]{32}$/;
const FOLDER_MODE = '40000';
const FILE_MODE = /^100/;

/** The record, or a section of it, is not as a manager writes it; the message says why. */
class Damage extends Error {}

/** One entry of a tree. */
interface Entry {
  mode: string;
  name: string;
  id: string;
}

/** The root folder of a version of the record, which has a folder for each section. */
export interface Root {
  /** Its tree. */
  tree: string;
  /** The entries with names of sections, even those that are not folders. */
  sections: ReadonlyMap<string, Entry>;
  /** Whether there are other entries, too. */
  hasMore: boolean;
}

/** The state of one section in a version of the record. */
export interface SectionState {
  /** Null if there is no record, or something else at its ref. */
  root: Root | null;
  /** Identifies what is stored there, damaged or not; null if there is nothing. */
  version: string | null;
  /** Why the section cannot be read; null if it can, or if there is nothing. */
  damage: string | null;
}

const NOTHING: SectionState = { root: null, version: null, damage: null };

/**
 * Returns the folder of a line's section: a hash, because names of folders and branches can be unfit for a file name.
 */
export function sectionName(line: string): string {
  return hash('sha256', line, 'hex').slice(0, 32);
}

/**
 * Calls `read` with a git process of its own, because git may end when it reads damaged objects, and must not take
 * other requests with it.
 */
async function withOwnReader<T>(
  { context }: Repository,
  read: (objects: ObjectReader) => Promise<T>,
): Promise<T> {
  const attempt = async (): Promise<T> => {
    const objects = openObjects(context);
    try {
      return await read(objects);
    } finally {
      await objects.close();
    }
  };
  try {
    return await attempt().catch(attempt);
  } catch (error) {
    if (isRefusal(error)) throw new Damage('git cannot read its objects');
    throw error;
  }
}

/** Whether git ended by itself, so that the objects are unreadable. A call that was cut short may succeed later. */
function isRefusal(error: unknown): boolean {
  return error instanceof GitFailure && error.exitCode !== null;
}

/** Resolves to the state of a section in the version at `tip`, without reading the files of any section. */
export async function sectionAt(
  repository: Repository,
  tip: string | null,
  section: string,
): Promise<SectionState> {
  if (tip === null) return NOTHING;
  try {
    const root = await withOwnReader(repository, (objects) => readRoot(objects, tip));
    return sectionIn(root, tip, section);
  } catch (error) {
    if (error instanceof Damage) return { root: null, version: tip, damage: error.message };
    throw error;
  }
}

/** Returns the state of a section in the version at `tip`, which has this root. */
function sectionIn(root: Root, tip: string, section: string): SectionState {
  const entry = root.sections.get(section);
  if (entry?.mode === FOLDER_MODE) return { root, version: entry.id, damage: null };
  if (entry !== undefined) return { root, version: entry.id, damage: 'its section is not a folder' };
  if (!root.hasMore) return { ...NOTHING, root };
  return {
    root,
    version: tip,
    damage: 'it has no section of this manager, but something that does not belong there',
  };
}

/** Reads a section from the version at `tip`; null if there is none. */
export async function readSection(
  repository: Repository,
  tip: string | null,
  section: string,
): Promise<SectionText | null> {
  if (tip === null) return null;
  let damaged = tip;
  try {
    return await withOwnReader(repository, async (objects) => {
      damaged = tip;
      const { version, damage } = sectionIn(await readRoot(objects, tip), tip, section);
      if (version === null) return null;
      damaged = version;
      if (damage !== null) throw new Damage(damage);
      return { version, files: await readFiles(objects, version) };
    });
  } catch (error) {
    if (error instanceof Damage) return { version: damaged, damage: error.message };
    throw error;
  }
}

async function readFiles(objects: ObjectReader, folder: string): Promise<Map<string, string>> {
  const entries = await readTree(objects, folder);
  if (entries.length > MAX_FILES) throw new Damage('it has too many files');
  const files = new Map<string, string>();
  let total = 0;
  for (const { mode, name, id } of entries) {
    if (!FILE_MODE.test(mode) || !FILE_NAME.test(name) || files.has(name))
      throw new Damage('it has a file that does not belong there');
    const bytes = await readFile(objects, id, Math.min(MAX_FILE, MAX_TOTAL - total));
    total += bytes.length;
    files.set(name, decode(bytes));
  }
  return files;
}

async function readRoot(objects: ObjectReader, tip: string): Promise<Root> {
  const commit = await objects.info(tip);
  if (commit?.type !== 'commit' || commit.size > MAX_HEADER)
    throw new Damage('it is not a commit of a manager');
  const tree = await objects.info(`${tip}^{tree}`);
  if (tree === null) throw new Damage('its tree is missing');
  const sections = new Map<string, Entry>();
  const entries = await readTree(objects, tree.id);
  for (const entry of entries) {
    if (!SECTION_NAME.test(entry.name)) continue;
    if (sections.has(entry.name)) throw new Damage('it has a section twice');
    sections.set(entry.name, entry);
  }
  if (sections.size > MAX_SECTIONS) throw new Damage('it has too many sections');
  return { tree: tree.id, sections, hasMore: sections.size < entries.length };
}

async function readTree(objects: ObjectReader, id: string): Promise<Entry[]> {
  const found = await objects.info(id);
  if (found?.type !== 'tree' || found.size > MAX_HEADER)
    throw new Damage('one of its trees is missing or too large');
  const bytes = await objects.contents(id);
  if (bytes === null) throw new Damage('one of its trees is missing');
  return parseTree(bytes, id.length / 2);
}

/** Parses entries of `<mode> SP <name> NUL <id>`, where the id is binary. */
function parseTree(bytes: Buffer, idLength: number): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [space, end] = [bytes.indexOf(' ', at), bytes.indexOf(0, at)];
    const next = end + 1 + idLength;
    if (space < 0 || end < space || next > bytes.length) throw new Damage('one of its trees is damaged');
    const [mode, name] = [bytes.toString('latin1', at, space), bytes.toString('latin1', space + 1, end)];
    entries.push({ mode, name, id: bytes.toString('hex', end + 1, next) });
    at = next;
  }
  return entries;
}

async function readFile(objects: ObjectReader, id: string, maxBytes: number): Promise<Uint8Array> {
  const blob = await objects.blob(id, maxBytes);
  if ('bytes' in blob) return blob.bytes;
  throw new Damage('missing' in blob ? 'one of its files is missing' : 'it is too large');
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Damage('one of its files is not UTF-8');
  }
}
