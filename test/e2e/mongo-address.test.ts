import { expect, it } from 'vitest';
import { makePlace, runProgram, stop } from './program.ts';

const OPEN = { AUTH_ENABLED: 'false' };

it('servers that DNS does not tell now are no reason not to start', async () => {
  const { env } = await makePlace();
  const program = runProgram(['serve'], { ...env, ...OPEN, MONGODB_URI: 'mongodb+srv://fleet.invalid/' });
  const [, address] = await program.waitFor(/"address":"([^"]+)"/);
  expect(program.output()).toContain('the store cannot be reached');
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  expect((await fetch(`${address}/readyz`)).status).toBe(503);
  expect(await stop(program)).toBe(0);
});

it('a file of the address that is not there: 2, and which setting is meant', async () => {
  const { env } = await makePlace();
  const address = 'mongodb://127.0.0.1:1/?tls=true&tlsCAFile=/no/such/file';
  const program = runProgram(['serve'], { ...env, ...OPEN, MONGODB_URI: address });
  expect(await program.ended).toBe(2);
  expect(program.output()).toContain('holdfast: MONGODB_URI names a file that cannot be read (ENOENT)\n');
});

it('an option that does not go with what the manager asks for: 2, and which setting is meant', async () => {
  const { env } = await makePlace();
  const address = 'mongodb://127.0.0.1:1/?readPreference=secondary&maxStalenessSeconds=120';
  const program = runProgram(['serve'], { ...env, ...OPEN, MONGODB_URI: address });
  expect(await program.ended).toBe(2);
  expect(program.output()).toContain('holdfast: MONGODB_URI cannot be read: Primary read preference');
});
