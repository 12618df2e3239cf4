import { commands, noObjectLike, refName } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { syncRef } from '../repository/sync-ref.ts';

/** Where the record stands (decisions, "Ids"). */
export const RECORD_REF = 'refs/holdfast/ids';
/** Where a mirror keeps what the record at origin was when it was last seen. */
export const SEEN_REF = 'refs/holdfast/origin-ids';

/** One ref that is moved, or taken away where `to` is null; without `expected` from wherever it is. */
export interface RefMove {
  ref: string;
  to: string | null;
  expected?: string | null;
}

/**
 * Moves refs of ours, all or none, and makes that durable. Where one is a symbolic ref, it is replaced: what it names
 * is not ours.
 */
export async function moveRefs(
  repository: Pick<Repository, 'context' | 'commonFolder'>,
  moves: readonly RefMove[],
): Promise<void> {
  const lines = moves.map((move) => `option no-deref\0${lineOf(move)}\0`);
  await runGit(repository.context, commands.updateRefs(), lines.join(''));
  await syncRef(repository, RECORD_REF);
}

function lineOf({ ref, to, expected }: RefMove): string {
  if (to === null) return `delete ${refName(ref)}\0${expected ?? ''}`;
  const from = expected === undefined ? '' : (expected ?? noObjectLike(to));
  return `update ${refName(ref)}\0${to}\0${from}`;
}
