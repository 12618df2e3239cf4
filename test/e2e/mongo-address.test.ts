import { describe, expect, it } from 'vitest';
import { checkMongoAddress } from '../../src/service/open/mongo-address.ts';
import { failure } from '../support/writer-engine.ts';
import { runProgram, setUpFleet, stop } from './program.ts';

const OPEN = { AUTH_ENABLED: 'false' };

describe('serve with MONGODB_URI', () => {
  it('starts while DNS does not know the servers, alive but not ready', async () => {
    const { env } = await setUpFleet();
    const program = runProgram(['serve'], { ...env, ...OPEN, MONGODB_URI: 'mongodb+srv://fleet.invalid/' });
    const [, address] = await program.waitFor(/"address":"([^"]+)"/);
    expect(program.output()).toContain('the store cannot be reached');
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
    expect((await fetch(`${address}/readyz`)).status).toBe(503);
    expect(await stop(program)).toBe(0);
  });

  it('exits with 2 if the address names a file that does not exist, and names the setting', async () => {
    const { env } = await setUpFleet();
    const address = 'mongodb://127.0.0.1:1/?tls=true&tlsCAFile=/no/such/file';
    const program = runProgram(['serve'], { ...env, ...OPEN, MONGODB_URI: address });
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain('holdfast: MONGODB_URI names a file that cannot be read (ENOENT)\n');
  });

  it('exits with 2 if the address cannot be parsed, and names the setting without showing the password', async () => {
    const { env } = await setUpFleet();
    const program = runProgram(['serve'], { ...env, MONGODB_URI: 'mongodb://ann:hunter2%zz@one/' });
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain('holdfast: MONGODB_URI cannot be read: ');
    expect(program.output()).not.toContain('hunter2');
  });
});

describe('checkMongoAddress', () => {
  it.each([
    ['has no host', 'mongodb://ann:hunter2@:x'],
    ['has a password that is not escaped', 'mongodb://ann:hunter2%zz@one/'],
    ['has a port above 65535', 'mongodb://ann:hunter2@one:99999/'],
    ['has a database name that is not escaped', 'mongodb://ann:hunter2@one/a%zz'],
    [
      'has an option that contradicts one of the manager',
      'mongodb://ann:hunter2@one/?readPreference=secondary&maxStalenessSeconds=120',
    ],
  ])('rejects an address that %s, without showing the password', async (_name, uri) => {
    const { kind, message } = await failure(checkMongoAddress(uri));
    expect(kind).toBe('invalid');
    expect(message).toMatch(/^MONGODB_URI cannot be read: /);
    expect(message).not.toContain('hunter2');
  });
});
