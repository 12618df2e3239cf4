import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';
import { runProgram, runProgramFrom, stop } from './program.ts';

/** Settings of a worker whose manager and engine are away. */
async function lonely(): Promise<Record<string, string>> {
  const folder = await temporaryFolder();
  return {
    MANAGER: 'http://127.0.0.1:1',
    DEVICE_GROUP: 'edge',
    DEVICE_NAME: 'shop-17',
    ENGINE: join(folder, 'no-engine.sock'),
    DATA_DIR: join(folder, 'data'),
    ORCHESTRATOR_MANAGER_CHECK_IN_TIME: '1',
  };
}

/** Starts a worker and waits until it answers on its socket. */
async function start(env: Record<string, string>) {
  const worker = runProgram(['worker'], env);
  await expect.poll(async () => (await run(['status', '--json'], env)).code, { timeout: 60_000 }).toBe(1);
  return worker;
}

async function run(args: string[], env: Record<string, string>) {
  const { ended, stdout, output } = runProgram(['worker', ...args], env);
  return { code: await ended, stdout: stdout(), output: output() };
}

describe('a worker whose manager and engine are away', () => {
  it('runs, says what is wrong, keeps a second worker out, and ends with 0 at SIGTERM', async () => {
    const env = await lonely();
    const worker = await start(env);
    await expect
      .poll(async () => (await run(['status'], env)).stdout, { timeout: 60_000 })
      .toMatch(/manager-unavailable.*engine-unavailable|engine-unavailable.*manager-unavailable/s);
    const second = await run([], env);
    expect(second.code).toBe(2);
    expect(second.output).toContain(`another worker (process ${worker.child.pid}) uses ${env['DATA_DIR']}`);
    expect(await run(['retry', 'web'], env)).toMatchObject({ code: 1 });
    expect(await stop(worker)).toBe(0);
    expect((await readdir(env['DATA_DIR'] ?? '')).filter((name) => name.startsWith('worker.sock'))).toEqual(
      [],
    );
    expect(await run(['status'], env)).toMatchObject({ code: 3 });
  });

  it('starts again where another was killed', async () => {
    const env = await lonely();
    const first = await start(env);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await start(env);
    expect(JSON.parse((await run(['status', '--json'], env)).stdout)).toMatchObject({
      pid: second.child.pid,
      hostname: 'shop-17',
      device_group: 'edge',
    });
    expect(await stop(second)).toBe(0);
  });

  it('is not waited for by --dry-run and --once, which end with 3', async () => {
    const env = await lonely();
    for (const mode of ['--dry-run', '--once']) expect(await run([mode], env)).toMatchObject({ code: 3 });
  });

  it('ends with 2 without settings, and names all that are missing', async () => {
    const { ended, output } = runProgramFrom(join(PROJECT, 'dist/main.js'), ['worker'], { ROLLBACK: 'x' });
    expect(await ended).toBe(2);
    for (const problem of ['set MANAGER', 'set DEVICE_GROUP', 'ROLLBACK'])
      expect(output()).toContain(`  ${problem} `);
  });
});
