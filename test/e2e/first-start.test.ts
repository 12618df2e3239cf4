import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { makePlace, runProgram, serve, stop } from './program.ts';

const SHOWN = /This is shown once/;

async function takenPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return String((server.address() as { port: number }).port);
}

it('a password is made by the start that comes to serve, whatever failed before', async () => {
  const place = await makePlace();
  const failing = [
    ['no git', { ...place.env, PATH: await temporaryFolder() }],
    ['a port that is taken', { ...place.env, PORT: await takenPort() }],
  ] as const;
  for (const [name, env] of failing) {
    const program = runProgram(['serve'], env);
    expect(await program.ended, name).not.toBe(0);
    expect(program.output(), name).not.toMatch(SHOWN);
    expect(await readdir(place.dataFolder), name).not.toContain('admin.json');
  }
  const program = await serve(place);
  await program.waitFor(SHOWN);
  expect(await readdir(place.dataFolder)).toContain('admin.json');
  await stop(program);
});
