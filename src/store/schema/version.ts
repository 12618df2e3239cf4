import { HoldfastError } from '../../errors.ts';

/** Schemas up to this version, of either store, were never released; such stores are refused. */
export const LAST_UNRELEASED = 6;

/**
 * Throws `invalid` if a newer version of the product than this one, which knows the schema `known`, has written a store, or
 * an unreleased one. `remedy` completes the message.
 */
export function refuseOtherSchema(version: number, known: number, remedy: string): void {
  const schema = `its schema is ${version}`;
  if (version > known) {
    const message = `the store was written by a newer version of Holdfast (${schema}, this version knows ${known}); run that version, or ${remedy}`;
    throw new HoldfastError('invalid', message, { version, known });
  }
  if (version <= LAST_UNRELEASED) {
    const message = `the store was written by an unreleased version of Holdfast (${schema}); ${remedy}`;
    throw new HoldfastError('invalid', message, { version, known });
  }
}
