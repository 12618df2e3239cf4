import { HoldfastError } from '../../errors.ts';
import type { StateWork, Work } from './work.ts';

/** `Store.claimHead` as work on a store. */
export function claimHead({ state }: Work, expected: number, revision: string, at: number): number {
  requireSequence(state.lastClaim(), expected);
  state.claim(revision);
  state.setAttempted(revision, at);
  return expected + 1;
}

/** Throws `conflict` when the last claim has another sequence number than this one. */
export function requireSequence(
  { sequence, claimed }: ReturnType<StateWork['lastClaim']>,
  expected: number,
): void {
  if (sequence === expected) return;
  const message = 'another pass has claimed the store since; read the repository again';
  throw new HoldfastError('conflict', message, { expected, sequence, claimed });
}
