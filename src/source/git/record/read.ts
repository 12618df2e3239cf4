import type { RecordVersion } from '../../../ids/record-ref.ts';
import { asUnavailable } from '../process/guarded.ts';
import { GitFailure } from '../process/run.ts';
import { type ObjectReader, openObjects } from '../read/objects.ts';
import type { Repository } from '../repository/repository.ts';

// Anyone who may push can write anything to the ref, so reading it is limited. Sizes are in bytes.

/** Of a commit, and a tree. */
const MAX_HEADER = 2 ** 16;
const MAX_FILES = 300;
export const MAX_FILE = 2 ** 24;
/** Of all files. */
export const MAX_TOTAL = 2 ** 26;

export const FILE_NAME = /^[a-z0-9][a-z0-9.]{0,39}$/;
const FILE_MODE = /^100/;

/** The record is not as a manager writes it; the message says why. */
class Damage extends Error {}

/** The trailer of a commit with the fleet of the manager that made it. */
export const FLEET = 'Fleet: ';

const UNREADABLE = 'git could not read the record of ids';

/** Resolves to the tip of the record. Rejects as `unavailable`. */
export function readTip(find: () => Promise<string | null>): Promise<string | null> {
  return asUnavailable(find, UNREADABLE);
}

/** Reads the version of the record at its tip, an object of any type; null if there is none. Rejects as `unavailable`. */
export async function readVersion(
  repository: Repository,
  findTip: () => Promise<string | null>,
): Promise<RecordVersion | null> {
  const tip = await findTip();
  return tip === null ? null : asUnavailable(() => versionAt(repository, tip), UNREADABLE);
}

async function versionAt({ context }: Repository, tip: string): Promise<RecordVersion> {
  let made = { at: 0, writer: '' };
  const attempt = async (): Promise<RecordVersion> => {
    // A process of its own: git may end when it reads damaged objects, and must not take other requests with it.
    const objects = openObjects(context);
    try {
      made = await readCommit(objects, tip);
      return { tip, ...made, files: await readFiles(objects, tip) };
    } finally {
      await objects.close();
    }
  };
  try {
    return await attempt().catch(attempt);
  } catch (error) {
    if (error instanceof Damage) return { tip, ...made, damage: error.message };
    // git ended by itself, so that the objects are unreadable. A call that was cut short may succeed later.
    const isRefusal = error instanceof GitFailure && error.exitCode !== null;
    if (isRefusal) return { tip, ...made, damage: 'git cannot read its objects' };
    throw error;
  }
}

/** Resolves to when a commit of a manager was made, and by which fleet. */
async function readCommit(objects: ObjectReader, tip: string): Promise<{ at: number; writer: string }> {
  const found = await objects.info(tip);
  if (found?.type !== 'commit' || found.size > MAX_HEADER)
    throw new Damage('it is not a commit of a manager');
  const text = (await objects.contents(tip))?.toString() ?? '';
  const [, seconds = '0'] = /^committer .* (\d{1,12}) [+-]\d{4}$/m.exec(text) ?? [];
  const [, writer = ''] = new RegExp(`^${FLEET}([0-9a-f]{32})$`, 'm').exec(text) ?? [];
  return { at: Number(seconds) * 1000, writer };
}

async function readFiles(objects: ObjectReader, tip: string): Promise<Map<string, string>> {
  const entries = await readTree(objects, tip);
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

/** One entry of a tree. */
interface Entry {
  mode: string;
  name: string;
  id: string;
}

async function readTree(objects: ObjectReader, tip: string): Promise<Entry[]> {
  const found = await objects.info(`${tip}^{tree}`);
  if (found === null || found.size > MAX_HEADER) throw new Damage('its tree is missing or too large');
  const bytes = await objects.contents(found.id);
  if (bytes === null) throw new Damage('its tree is missing');
  return parseTree(bytes, found.id.length / 2);
}

/** Parses entries of `<mode> SP <name> NUL <id>`, where the id is binary. */
function parseTree(bytes: Buffer, idLength: number): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [space, end] = [bytes.indexOf(' ', at), bytes.indexOf(0, at)];
    const next = end + 1 + idLength;
    if (space < 0 || end < space || next > bytes.length) throw new Damage('its tree is damaged');
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
