import { HoldfastError, kindOf, messageOf } from '../../../errors.ts';
import type { IdsRecord } from '../../source.ts';
import { commands, refName } from '../commands.ts';
import { createIdsRecord, RECORD_REF } from '../record.ts';
import type { Repository } from '../repository.ts';
import { runGit } from '../run.ts';
import type { OriginAccess } from './access.ts';
import type { Exclusive } from './exclusive.ts';
import type { Origin } from './origin.ts';

/** Where the mirror keeps what the record at origin was when it was last seen. */
const SEEN_REF = 'refs/holdfast/origin-ids';

/** What keeping the record at origin needs. */
export interface OriginRecordParts {
  repository: Repository;
  origin: Origin;
  exclusive: Exclusive;
  /** Brings the mirror to where origin is. */
  fetch(): Promise<void>;
  access: OriginAccess;
  /** Told once, with a sentence, that origin does not take the record; it is kept in the mirror alone then. */
  onRefused(reason: string): void;
}

/**
 * The record of ids in the mirror, and at origin where that takes it. A mirror without one (it was lost with everything
 * else) begins with what origin has.
 */
export function createOriginRecord(parts: OriginRecordParts): IdsRecord {
  const { repository, exclusive } = parts;
  let isRefused = false;

  const publish = async (tip: string): Promise<void> => {
    try {
      await pushRecord(parts, tip);
    } catch (error) {
      // A refusal is for good; what is only out of reach is tried again by whoever writes.
      if (kindOf(error) !== 'conflict') throw error;
      if (!isRefused) parts.onRefused(messageOf(error));
      isRefused = true;
    }
  };
  const record = createIdsRecord(repository, publish, parts.access.url);

  return {
    place: record.place,
    source: record.source,
    read: async () => {
      const found = await record.read();
      if (found !== null) return found;
      const seen = await tipOf(repository, SEEN_REF);
      if (seen === null) return null;
      await setRef(repository, RECORD_REF, seen);
      return record.read();
    },
    write: (draft) => exclusive(() => record.write(draft)),
  };
}

async function pushRecord({ repository, origin, fetch }: OriginRecordParts, tip: string): Promise<void> {
  const seen = await tipOf(repository, SEEN_REF);
  if ((await origin.push(RECORD_REF, seen, tip)) === 'done') return setRef(repository, SEEN_REF, tip);
  await fetch();
  const now = await tipOf(repository, SEEN_REF);
  // Somebody else's version is begun with, and this one is written on top of it.
  if (now !== null) await setRef(repository, RECORD_REF, now);
  throw new HoldfastError('moved-on', 'another manager wrote the record of ids');
}

async function tipOf({ context }: Repository, ref: string): Promise<string | null> {
  const tip = await runGit(context, commands.tip(ref)).catch(() => '');
  return tip.trim() || null;
}

async function setRef({ context }: Repository, ref: string, tip: string): Promise<void> {
  await runGit(context, commands.updateRefs(), `option no-deref\0update ${refName(ref)}\0${tip}\0\0`);
}
