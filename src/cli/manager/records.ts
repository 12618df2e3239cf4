import { DESCRIPTORS } from '../../desired/kinds.ts';
import { HoldfastError } from '../../errors.ts';
import { type Kind, NAME_PATTERN } from '../../protocol/name.ts';
import { isMapValue } from '../../protocol/values.ts';
import { getReply, type ManagerAddress, type ManagerReply, refusalText, unexpectedText } from './client.ts';

/** A manager's records of objects, by kind and name; null for a name that is not valid here, which is not requested. */
export type ManagerRecords = Readonly<Record<Kind, ReadonlyMap<string, Record<string, unknown> | null>>>;

/** Is called after each batch of objects with how many of a kind are read. */
export type OnRead = (kind: Kind, done: number, total: number) => void;

/** How many objects are requested at the same time. */
const CONCURRENCY = 8;

/**
 * Reads every app and device group. Rejects if any of them cannot be read: as `invalid` if the address or the
 * credentials are wrong, as `unavailable` if trying again can help.
 */
export async function readManager(manager: ManagerAddress, onRead: OnRead): Promise<ManagerRecords> {
  try {
    const app = await readKind(manager, 'app', onRead);
    return { app, device_group: await readKind(manager, 'device_group', onRead), device: new Map() };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    throw new HoldfastError(error.kind, `${error.message}; nothing was written`, error.details, error);
  }
}

async function readKind(manager: ManagerAddress, kind: Kind, onRead: OnRead): Promise<ManagerRecords[Kind]> {
  const path = DESCRIPTORS[kind].collection;
  const { [path]: names } = await readRecord(manager, path);
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw new HoldfastError('invalid', unexpectedText(manager, path));
  const records = new Map<string, Record<string, unknown> | null>();
  for (let start = 0; start < names.length; start += CONCURRENCY) {
    const batch = names.slice(start, start + CONCURRENCY).map(async (name: string) => {
      const record = NAME_PATTERN.test(name) ? await readRecord(manager, `${path}/${name}`) : null;
      return [name, record] as const;
    });
    for (const [name, record] of await Promise.all(batch)) records.set(name, record);
    onRead(kind, records.size, names.length);
  }
  return records;
}

async function readRecord(manager: ManagerAddress, path: string): Promise<Record<string, unknown>> {
  const reply = await getReply(manager, path);
  if (reply.status !== 200) throw refusal(manager, path, reply);
  if (!isMapValue(reply.body)) throw new HoldfastError('invalid', unexpectedText(manager, path));
  return reply.body;
}

/** What to check for each status that trying again does not change. */
const HINTS: Readonly<Record<number, string>> = {
  403: '; that account may not read it, or it was deleted just now',
  404: '; is there a manager with API v2?',
};

function refusal(manager: ManagerAddress, path: string, reply: ManagerReply): HoldfastError {
  const isFinal = reply.location !== null || reply.status === 401 || HINTS[reply.status] !== undefined;
  return new HoldfastError(isFinal ? 'invalid' : 'unavailable', refusalText(manager, path, reply, HINTS));
}
