import { commands } from '../process/commands.ts';
import { nullIdLike } from '../process/object-ids.ts';
import { refName } from '../process/ref-names.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { syncRef } from './sync.ts';

/** The move of one ref. */
export interface RefMove {
  ref: string;
  /** Null deletes the ref. */
  to: string | null;
  /** The object that the ref must name; null: the ref must not exist. Missing: whatever it names. */
  expected?: string | null;
}

/**
 * Moves refs of ours, all or none, and makes that durable. A symbolic ref is replaced itself, because the ref that it
 * names is not ours.
 */
export async function moveRefs(
  repository: Pick<Repository, 'context' | 'commonFolder'>,
  moves: readonly RefMove[],
): Promise<void> {
  const input = moves.map((move) => `option no-deref\0${instruction(move)}\0`);
  await runGit(repository.context, commands.updateRefs(), input.join(''));
  for (const { ref, to } of moves) if (to !== null) await syncRef(repository, ref);
}

function instruction({ ref, to, expected }: RefMove): string {
  if (to === null) return `delete ${refName(ref)}\0${expected ?? ''}`;
  const from = expected === undefined ? '' : (expected ?? nullIdLike(to));
  return `update ${refName(ref)}\0${to}\0${from}`;
}
