import { HoldfastError, messageOf } from '../../errors.ts';

const HINT = 'in user and password write %40 for @, %3A for :, %2F for / and %25 for %';

/**
 * Checks the address of `MONGODB_URI` without connecting, and rejects as `invalid` if the driver cannot read it. The error never contains a part of the user name or password.
 */
export async function checkMongoAddress(uri: string): Promise<void> {
  // Loading the driver takes much of a start's time and memory, so only a command that uses it does.
  const { MongoClient } = await import('mongodb');
  try {
    // The same read preference as the store's: some options of an address, such as `maxStalenessSeconds`, conflict with
    // it.
    new MongoClient(uri, { readPreference: 'primary' });
  } catch (error) {
    const message = messageOf(error);
    const isSecret = credentialParts(uri).some((part) => message.includes(part));
    throw new HoldfastError(
      'invalid',
      `MONGODB_URI cannot be read: ${isSecret ? 'it is malformed' : message}; ${HINT}`,
    );
  }
}

/** Splits the credentials, which stand before the host, into the parts that a parser could quote in its error. */
function credentialParts(uri: string): string[] {
  const credentials = uri.slice(0, Math.max(uri.lastIndexOf('@'), 0)).replace(/^[^/]*\/*/, '');
  return credentials.split(/[:@/,?#&=]/).filter((part) => part !== '');
}
