import { HoldfastError } from '../../errors.ts';
import type { StateWork, Work } from './work.ts';

/** Implements `Store.claimHead` on a store's `Work`. */
export function claimHead({ state }: Work, expected: number, revision: string, at: number): number {
  requireSequence(state.lastClaim(), expected);
  state.claim(revision);
  state.setAttempted(revision, at);
  return expected + 1;
}

/** Throws `conflict` if the sequence number of the last claim is not `expected`. */
export function requireSequence({ sequence }: ReturnType<StateWork['lastClaim']>, expected: number): void {
  if (sequence === expected) return;
  const message = 'another pass has claimed the store since; read the repository again';
  throw new HoldfastError('conflict', message);
}
