import { HoldfastError } from '../../../errors.ts';
import type { FleetState } from '../../fleet.ts';
import type { WorkingSet } from './working-set.ts';

/** Implements `PassStore.claimHead`. */
export function claimHead(work: WorkingSet, expected: number, revision: string, at: number): number {
  requireSequence(work.state, expected);
  const sequence = expected + 1;
  work.set({ sequence, claimed: revision, attempted: { revision, at } });
  return sequence;
}

/** Throws `conflict` if the sequence number of the last claim is not `expected`. */
export function requireSequence({ sequence }: Pick<FleetState, 'sequence'>, expected: number): void {
  if (sequence === expected) return;
  const message = 'another pass has claimed the store since; read the repository again';
  throw new HoldfastError('conflict', message);
}
