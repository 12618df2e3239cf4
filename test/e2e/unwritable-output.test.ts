import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, PASSWORD, USER } from '../support/manager.ts';
import { type FleetSetup, runProgram, runProgramInto, serve, setUpFleet, stop } from './program.ts';

/** Whether there is a device that is always full, as on Linux. */
const HAS_FULL = existsSync('/dev/full');
const ACCOUNT = { BASIC_AUTH_USER: USER, BASIC_AUTH_PASSWORD: PASSWORD };

/** Sends a write, which the manager logs; resolves to the status of the reply. */
async function setImage(address: string, image: string): Promise<number> {
  const reply = await fetch(`${address}/api/v2/apps/web/update`, {
    method: 'PUT',
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
    body: JSON.stringify({ container_image: image }),
  });
  return reply.status;
}

/** The address of the manager on this data folder, once it is ready; its log cannot be read here. */
async function addressOf({ dataFolder }: FleetSetup): Promise<string> {
  const read = async (): Promise<string> => {
    const text = await readFile(join(dataFolder, 'manager.json'), 'utf8').catch(() => '{}');
    return JSON.parse(text).address ?? '';
  };
  await expect.poll(read, { timeout: 60_000 }).not.toBe('');
  const address = await read();
  await expect.poll(async () => (await fetch(`${address}/readyz`)).status, { timeout: 60_000 }).toBe(200);
  return address;
}

describe('a manager that cannot write its log', () => {
  it('keeps working after the reader of its output has closed the pipe', async () => {
    const program = await serve(await setUpFleet(), ACCOUNT);
    program.child.stdout?.destroy();
    for (const image of ['nginx:1', 'nginx:2', 'nginx:3'])
      expect(await setImage(program.address, image)).toBe(202);
    expect(await stop(program)).toBe(0);
  });

  it.skipIf(!HAS_FULL)('keeps working on a full disk', async () => {
    const setup = await setUpFleet();
    const program = runProgramInto('> /dev/full 2> /dev/full', ['serve'], { ...setup.env, ...ACCOUNT });
    const address = await addressOf(setup);
    for (const image of ['nginx:1', 'nginx:2', 'nginx:3']) expect(await setImage(address, image)).toBe(202);
    expect(await stop(program)).toBe(0);
  });
});

describe('a command that cannot write its result', () => {
  it.skipIf(!HAS_FULL).each([['validate'], ['plan', '--format', 'json'], ['--help']])(
    '%s: exits with 3 on a full disk, and says so',
    async (...args) => {
      const { repository } = await setUpFleet();
      const program = runProgramInto('> /dev/full', args, {}, repository.folder);
      expect(await program.ended).toBe(3);
      expect(program.output()).toMatch(/^holdfast: the output could not be written: .*no space left/);
    },
  );

  it('keeps its exit code if the reader closes the pipe early', async () => {
    const { repository } = await setUpFleet();
    const program = runProgram(['--help'], {}, repository.folder);
    program.child.stdout?.destroy();
    expect(await program.ended).toBe(0);
    expect(program.output()).toBe('');
  });
});
