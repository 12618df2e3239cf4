import { createHash } from 'node:crypto';
import type { SectionText } from '../../source.ts';
import { GitFailure } from '../process/run.ts';
import { type ObjectReader, openObjects } from '../read/objects.ts';
import type { Repository } from '../repository/repository.ts';

/** Whoever may push can write the ref: so much of it is read, and not more. Sizes in bytes. */
const MAX_HEADER = 2 ** 16;
const MAX_FILES = 300;
export const MAX_FILE = 2 ** 24;
/** Of one section. */
export const MAX_TOTAL = 2 ** 26;
/** So many fit into a tree of `MAX_HEADER`. */
export const MAX_SECTIONS = 500;

export const FILE_NAME = /^[a-z0-9][a-z0-9.]{0,39}$/;
const SECTION_NAME = /^[0-9a-f]{32}$/;
const FOLDER_MODE = '40000';
const FILE_MODE = /^100/;

/** A record, or a section of it, that is there, and cannot be one of ours; the message says why. */
class Damage extends Error {}

/** One entry of a tree. */
interface Entry {
  mode: string;
  name: string;
  id: string;
}

/** The top of a version of the record: a folder for each section. */
export interface Root {
  /** Its tree. */
  tree: string;
  /** What stands under each name that a section can have, be it one or not. */
  sections: ReadonlyMap<string, Entry>;
  /** Whether there is something else beside them. */
  hasMore: boolean;
}

/** What a version of the record holds for one line. */
export interface SectionState {
  /** Null where nothing stands there, or nothing that can have sections. */
  root: Root | null;
  /** Tells what stands there for the line from everything else that could; null where nothing does. */
  version: string | null;
  /** Why there is no section to read where something stands; null where there is one. */
  damage: string | null;
}

const NOTHING: SectionState = { root: null, version: null, damage: null };

/** The folder of the section of a line: names of folders and branches are no names for files. */
export function sectionName(line: string): string {
  return createHash('sha256').update(line).digest('hex').slice(0, 32);
}

/** By a process of its own: git may end over what it meets here, and other reading goes on. */
async function reading<T>({ context }: Repository, read: (objects: ObjectReader) => Promise<T>): Promise<T> {
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

/** What git has refused by ending is not readable; a call that was cut short may be. */
function isRefusal(error: unknown): boolean {
  return error instanceof GitFailure && error.exitCode !== null;
}

/** What a version holds for a line; the sections of others are not read. */
export async function sectionAt(
  repository: Repository,
  tip: string | null,
  section: string,
): Promise<SectionState> {
  if (tip === null) return NOTHING;
  try {
    return sectionIn(await reading(repository, (objects) => readRoot(objects, tip)), tip, section);
  } catch (error) {
    if (error instanceof Damage) return { root: null, version: tip, damage: error.message };
    throw error;
  }
}

function sectionIn(root: Root, tip: string, section: string): SectionState & { root: Root } {
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

/** What a version says for the line of a section; null where it says nothing. */
export async function readSection(
  repository: Repository,
  tip: string | null,
  section: string,
): Promise<SectionText | null> {
  if (tip === null) return null;
  let found = tip;
  try {
    return await reading(repository, async (objects) => {
      found = tip;
      const { root, version, damage } = sectionIn(await readRoot(objects, tip), tip, section);
      if (root === null || version === null) return null;
      found = version;
      if (damage !== null) throw new Damage(damage);
      return { version, files: await readFiles(objects, version) };
    });
  } catch (error) {
    if (error instanceof Damage) return { version: found, damage: error.message };
    throw error;
  }
}

/** The file of this name of every section of these versions in which it can be read. */
export async function readOfEach(
  repository: Repository,
  tips: readonly (string | null)[],
  name: string,
): Promise<string[]> {
  const objects = openObjects(repository.context);
  const texts = new Set<string>();
  try {
    for (const tip of new Set(tips.filter((one) => one !== null))) {
      const root = await readRoot(objects, tip).catch(unlessDamaged);
      for (const { mode, id } of root?.sections.values() ?? []) {
        const text = mode === FOLDER_MODE ? await readIn(objects, id, name).catch(unlessDamaged) : null;
        if (text !== null) texts.add(text);
      }
    }
    return [...texts];
  } finally {
    await objects.close();
  }
}

async function readIn(objects: ObjectReader, folder: string, name: string): Promise<string | null> {
  const entry = (await readTree(objects, folder)).find((one) => one.name === name);
  return entry === undefined ? null : decode(await readFile(objects, entry.id, MAX_HEADER));
}

function unlessDamaged(error: unknown): null {
  if (error instanceof Damage || isRefusal(error)) return null;
  throw error;
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

/** Entries of `<mode> SP <name> NUL <id>`, the id as it is. */
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
