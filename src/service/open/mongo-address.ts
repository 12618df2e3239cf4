import { HoldfastError, messageOf } from '../../errors.ts';
import type { AddressPlace } from '../../store/mongo/errors.ts';

const HINT = 'in user and password write %40 for @, %3A for :, %2F for / and %25 for %';

/**
 * Rejects as `invalid` an address of MongoDB that the driver cannot read; `place` is where it was given. Nothing is
 * connected, and nothing of user and password is in the error.
 */
export async function checkMongoAddress(uri: string, place: AddressPlace): Promise<void> {
  // The driver takes a good part of a start and of the memory: only who needs it loads it.
  const { MongoClient } = await import('mongodb');
  try {
    // As the store does it: some options of an address, such as `maxStalenessSeconds`, do not go with that.
    new MongoClient(uri, { readPreference: 'primary' });
  } catch (error) {
    const reason = messageOf(error);
    const shown = piecesOfUser(uri).some((piece) => reason.includes(piece)) ? 'it is malformed' : reason;
    throw new HoldfastError('invalid', `${place} cannot be read: ${shown}; ${HINT}`);
  }
}

/** What stands before the host, in the pieces in which a parser could repeat it. */
function piecesOfUser(uri: string): string[] {
  const [, user = ''] = /^[^/]*\/*(.*)@/.exec(uri) ?? [];
  return user.split(/[:@/,?#&=]/).filter((piece) => piece !== '');
}
