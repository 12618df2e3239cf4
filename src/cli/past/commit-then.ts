import { HoldfastError } from '../../errors.ts';
import { managerToAsk } from '../manager/ask.ts';
import { shownAddress } from '../manager/client.ts';
import { type CommandIo, UsageError } from '../shell/io.ts';
import { localTime } from './history-text.ts';
import { appliedBy } from './manager-history.ts';
import { commitOf, type OpenPast, withShallowHint } from './past.ts';
import { parseDate } from './since.ts';

const DAY = 86_400_000;

/**
 * Resolves to the commit of `--to`: the one that it names or, of `yesterday` (24 hours ago) or a date, the one of then, which is
 * said on standard error. Rejects with advice if there is none.
 */
export async function commitTo(
  given: string,
  options: Readonly<Record<string, string | boolean | undefined>>,
  { revisions }: OpenPast,
  io: CommandIo,
): Promise<string> {
  const now = io.now();
  const time = given === 'yesterday' ? now - DAY : parseDate(given);
  if (time === null || (await revisions.commit(given)) !== null) return commitOf(given, '--to', revisions);
  if (time > now) throw new UsageError(`${given} is in the future`);
  const manager = managerToAsk(options, io);
  const commit = manager === null ? await madeBy(time, revisions) : await knownTo(manager, time, revisions);
  io.writeError(`${given} is commit ${commit.slice(0, 12)}.\n`);
  return commit;
}

type Revisions = OpenPast['revisions'];

async function madeBy(time: number, revisions: Revisions): Promise<string> {
  const commit = await revisions.commitBy(time);
  if (commit !== null) return commit;
  const error = new HoldfastError('absent', `no commit of this branch was made by ${localTime(time)}`);
  throw withShallowHint(error, revisions);
}

async function knownTo(
  manager: NonNullable<ReturnType<typeof managerToAsk>>,
  time: number,
  revisions: Revisions,
): Promise<string> {
  const [name, then] = [shownAddress(manager), localTime(time)];
  const commit = await appliedBy(manager, time);
  if (commit === null)
    throw new HoldfastError(
      'absent',
      `${name} had applied nothing by ${then}; with --desired-state FOLDER, the dates of commits count`,
    );
  if ((await revisions.commit(commit)) !== null) return commit;
  throw new HoldfastError(
    'absent',
    `by ${then}, ${name} had applied ${commit.slice(0, 12)}, which is not in this clone: git fetch`,
  );
}
