import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, PASSWORD, USER } from '../support/manager.ts';
import { makePlace, type Place, runProgram, runProgramInto, serve, stop } from './program.ts';

/** A device that is always full; Linux has it. */
const HAS_FULL = existsSync('/dev/full');
const ACCOUNT = { BASIC_AUTH_USER: USER, BASIC_AUTH_PASSWORD: PASSWORD };

/** A write, of which the log tells; resolves to the status of the reply. */
async function setImage(address: string, image: string): Promise<number> {
  const reply = await fetch(`${address}/api/v2/apps/web/update`, {
    method: 'PUT',
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
    body: JSON.stringify({ container_image: image }),
  });
  return reply.status;
}

/** Where the manager of a data folder listens, once it has applied something. */
async function addressOf({ dataFolder }: Place): Promise<string> {
  const read = async (): Promise<string> => {
    const text = await readFile(join(dataFolder, 'manager.json'), 'utf8').catch(() => '{}');
    return JSON.parse(text).address ?? '';
  };
  await expect.poll(read, { timeout: 60_000 }).not.toBe('');
  const address = await read();
  await expect.poll(async () => (await fetch(`${address}/readyz`)).status, { timeout: 60_000 }).toBe(200);
  return address;
}

describe('a log that cannot be written does not end the manager', () => {
  it('whose reader has left', async () => {
    const program = await serve(await makePlace(), ACCOUNT);
    program.child.stdout?.destroy();
    for (const image of ['nginx:1', 'nginx:2', 'nginx:3'])
      expect(await setImage(program.address, image)).toBe(202);
    expect(await stop(program)).toBe(0);
  });

  it.skipIf(!HAS_FULL)('on a disk that is full', async () => {
    const place = await makePlace();
    const program = runProgramInto('> /dev/full 2> /dev/full', ['serve'], { ...place.env, ...ACCOUNT });
    const address = await addressOf(place);
    for (const image of ['nginx:1', 'nginx:2', 'nginx:3']) expect(await setImage(address, image)).toBe(202);
    expect(await stop(program)).toBe(0);
  });
});

describe('a command whose result could not be written', () => {
  it.skipIf(!HAS_FULL).each([['validate'], ['plan', '--format', 'json'], ['--help']])(
    '%s: 3, and why',
    async (...args) => {
      const { repository } = await makePlace();
      const program = runProgramInto('> /dev/full', args, {}, repository.folder);
      expect(await program.ended).toBe(3);
      expect(program.output()).toMatch(/^holdfast: the output could not be written: .*no space left/);
    },
  );

  it('keeps its exit code where the reader had enough', async () => {
    const { repository } = await makePlace();
    const program = runProgram(['--help'], {}, repository.folder);
    program.child.stdout?.destroy();
    expect(await program.ended).toBe(0);
    expect(program.output()).toBe('');
  });
});
