import {
  MongoAWSError,
  MongoClient,
  MongoError,
  MongoInvalidArgumentError,
  MongoMissingDependencyError,
  MongoNetworkError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
  type TopologyDescription,
} from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { HoldfastError } from '../../../src/errors.ts';
import { openError, storeError } from '../../../src/mongo/errors.ts';

const SECRET = 'mongodb://ann:hunter2@one/';

function serverError(code: number, codeName?: string): MongoServerError {
  return new MongoServerError({ message: `refused by ${SECRET}`, code, ...(codeName && { codeName }) });
}

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}

function missingModule(message: string): MongoMissingDependencyError {
  return new MongoMissingDependencyError(message, { cause: new Error('no module'), dependencyName: 'aws4' });
}

/** The driver's topology is not used. */
const TOPOLOGY = {} as TopologyDescription;

const FAILURES: [words: string, code: string, error: MongoError][] = [
  [
    'the store does not confirm a write by a majority of its members in time',
    'WriteConcernTimeout',
    serverError(64, 'WriteConcernTimeout'),
  ],
  ['the store is shutting down', 'ShutdownInProgress', serverError(91, 'ShutdownInProgress')],
  ['the store is choosing a new primary', '189', serverError(189)],
  ['the store is choosing a new primary', '10107', serverError(10_107)],
  ['the store is choosing a new primary', '11602', serverError(11_602)],
  ['the store is choosing a new primary', '13435', serverError(13_435)],
  ['the store has no space left on its disk; make room there', '14031', serverError(14_031)],
  ['the store denies access to the user of MONGODB_URI', 'Unauthorized', serverError(13, 'Unauthorized')],
  ['the store rejects the user or the password of MONGODB_URI', '18', serverError(18)],
  ['the store failed', '1', serverError(1)],
  [
    'the store cannot be reached: no server of MONGODB_URI accepts writes',
    'MongoServerSelectionError',
    new MongoServerSelectionError(`no server of ${SECRET}`, TOPOLOGY),
  ],
  ['the store does not answer', 'MongoNetworkError', new MongoNetworkError(`no answer of ${SECRET}`)],
  [
    'the store does not answer',
    'MongoWaitQueueTimeoutError',
    Object.defineProperty(new MongoError(SECRET), 'name', { value: 'MongoWaitQueueTimeoutError' }),
  ],
  [
    'the store does not confirm a write',
    '100',
    new MongoWriteConcernError({
      ok: 1,
      writeConcernError: { code: 100, errmsg: `too few members of ${SECRET}` },
    }),
  ],
];

describe('an error of MongoDB', () => {
  it.each(FAILURES)('is unavailable, and says "%s" without user and password: %s', (words, code, error) => {
    const known = storeError(error) as HoldfastError;
    expect(known).toMatchObject({ kind: 'unavailable', message: words, details: { code } });
    const cause = known.cause as Error;
    expect(cause).toMatchObject({ name: error.name, message: expect.stringContaining('//(secret)@') });
    expect(`${cause.stack}${JSON.stringify(known)}${JSON.stringify(cause)}`).not.toContain('hunter2');
  });

  it('names the setting that has the user', () => {
    expect(storeError(serverError(13))).toMatchObject({
      message: 'the store denies access to the user of MONGODB_URI',
    });
  });

  it('is unavailable if the server sent what the driver cannot parse', () => {
    const error = new MongoParseError('Message size cannot be negative: -5');
    expect(storeError(error)).toMatchObject({
      kind: 'unavailable',
      message: 'the store failed',
    });
  });

  it('is not made of errors of the program', () => {
    const bug = new TypeError('x is undefined');
    expect(storeError(bug)).toBe(bug);
    expect(openError(bug)).toBe(bug);
    expect(openError('thrown')).toBe('thrown');
  });
});

describe('an error while a connection is opened', () => {
  it.each([
    [
      'querySrv',
      'ENOTFOUND',
      'unavailable',
      'the store cannot be reached: DNS does not find the servers of MONGODB_URI',
    ],
    ['open', 'ENOENT', 'invalid', 'MONGODB_URI names a file that cannot be read (ENOENT)'],
    ['read', 'EISDIR', 'invalid', 'MONGODB_URI names a file that cannot be read (EISDIR)'],
  ])('of the system, by %s (%s), is %s: %s', (syscall, code, kind, message) => {
    const details = kind === 'unavailable' ? { code } : {};
    expect(openError(systemError(code, syscall))).toMatchObject({ kind, message, details });
  });

  it.each([
    ['that cannot be read', new MongoParseError(`no host in ${SECRET}`)],
    ['with a value that the driver refuses', new MongoInvalidArgumentError(`no host in ${SECRET}`)],
    ['that needs a missing module', missingModule(`no host in ${SECRET}`)],
    [
      'that needs a missing module, as the cause of another error',
      new MongoAWSError('no credentials', { cause: missingModule(`no host in ${SECRET}`) }),
    ],
  ])('of the driver about an address %s is invalid, without user and password', (_, error) => {
    expect(openError(error)).toMatchObject({
      kind: 'invalid',
      message: 'MONGODB_URI cannot be used: no host in mongodb://(secret)@one/',
    });
  });

  it.each([
    'tls=true&secureProtocol=x',
    'tls=true&ciphers=x',
    'tls=true&ecdhCurve=x',
    'tls=true&key=x',
    'localPort=abc',
    'localAddress=x',
    'autoSelectFamilyAttemptTimeout=0',
  ])('of Node about a setting in the address is invalid: %s', async (setting) => {
    const client = new MongoClient(`mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=200&${setting}`);
    const error = await client.connect().catch((reason: unknown) => reason);
    await client.close();
    expect(openError(error)).toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/^MONGODB_URI cannot be used: \S/),
    });
  });

  it('of a port that nobody listens on is unavailable', async () => {
    const client = new MongoClient('mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=200');
    const error = await client.connect().catch((reason: unknown) => reason);
    await client.close();
    expect(openError(error)).toMatchObject({ kind: 'unavailable' });
  });

  it('of another system call is not known', () => {
    const error = systemError('EIO', 'stat');
    expect(openError(error)).toBe(error);
  });

  it('of the driver is that of any call', () => {
    expect(openError(serverError(18))).toMatchObject({
      kind: 'unavailable',
      message: 'the store rejects the user or the password of MONGODB_URI',
    });
  });
});
