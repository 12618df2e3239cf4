import type { HoldfastError } from '../errors.ts';
import type { ObjectKey } from '../protocol/name.ts';
import { ifMatchRefusal } from '../store/objects/if-match.ts';
import type { ObjectReads } from '../store/objects/port.ts';
import { absentError, ChangesRefused, presentError } from './refusals.ts';
import type { ChangeSet, WriteRequest, WriterDependencies } from './write.ts';

/**
 * Resolves to the error of a request about an object that is neither in the store nor in a file, or, if `isCreated`, of a
 * request that creates an object which is in the store; null if there is no such error in the state of the last pass.
 */
export async function existenceError(
  { store, reconciler }: Pick<WriterDependencies, 'reconciler'> & { store: ObjectReads },
  { kind, name }: ObjectKey,
  isCreated: boolean,
): Promise<HoldfastError | null> {
  const isStored = (await store.object(kind, name)).value !== null;
  if (isCreated) return isStored ? presentError(kind, name) : null;
  const isKnown = isStored || reconciler.passes.desired.pathsOf(kind, name).length > 0;
  return isKnown ? null : absentError(kind, name);
}

/** Resolves to an error with the `existenceError` of each change of a set; null if no change has one. */
export async function existenceErrors(
  dependencies: Parameters<typeof existenceError>[0],
  { changes }: ChangeSet,
): Promise<ChangesRefused | null> {
  const errors = new Map<number, HoldfastError>();
  for (const [index, write] of changes.entries()) {
    // Any file can be written, also one of no object.
    const error =
      write.op === 'file' ? null : await existenceError(dependencies, write, write.op === 'create');
    if (error !== null) errors.set(index, error);
  }
  return errors.size === 0 ? null : new ChangesRefused(errors);
}

/**
 * Resolves to the `moved-on` error of a write whose `If-Match` does not match an object in the store; null if it
 * matches or there is none. Callers report it only after all errors of the request itself (docs/contract.md, 5.6).
 */
export async function ifMatchError(
  { set, context }: WriteRequest,
  store: ObjectReads,
): Promise<HoldfastError | null> {
  if (context.ifMatch === null) return null;
  for (const { kind, name } of set.changes) {
    const refusal = ifMatchRefusal((await store.object(kind, name)).value, context.ifMatch);
    if (refusal !== null) return refusal;
  }
  return null;
}
