import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { AUTHORIZATION, PASSWORD, SMALL_FLEET, USER } from '../support/manager.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Started {
  process: ChildProcess;
  text: { out: string; err: string };
  /** Resolves to the exit code. */
  ended: Promise<number | null>;
}

/** A real process, as `npm start` makes one. */
function start(argv: string[], env: Record<string, string>): Started {
  const child = spawn(process.execPath, ['--import', 'tsx', join(ROOT, 'src/main.ts'), ...argv], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const text = { out: '', err: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    text.out += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    text.err += chunk;
  });
  return { process: child, text, ended: new Promise((resolve) => child.on('close', resolve)) };
}

async function settings(): Promise<Record<string, string>> {
  const repository = await testRepository();
  await repository.commit(inDesiredState(SMALL_FLEET));
  return {
    PORT: '0',
    DESIRED_STATE: join(repository.folder, 'desired-state'),
    DATA_DIR: join(await temporaryFolder(), 'data'),
    BASIC_AUTH_USER: USER,
    BASIC_AUTH_PASSWORD: PASSWORD,
  };
}

describe('decisions.md: Settings and command line: a process', () => {
  it('serve: PORT=0 takes a free port and logs it, one JSON line an event; SIGTERM ends it with 0', async () => {
    const { process: child, text, ended } = start(['serve'], await settings());
    const address = () => /http:\/\/127\.0\.0\.1:\d+/.exec(text.out)?.[0] ?? '';
    await expect.poll(address, { timeout: 60_000 }).not.toBe('');
    await expect.poll(async () => (await fetch(`${address()}/readyz`)).status, { timeout: 60_000 }).toBe(200);
    const reply = await fetch(`${address()}/api/v2/apps`, { headers: { authorization: AUTHORIZATION } });
    expect(await reply.json()).toEqual({ apps: ['cron', 'web'] });
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    for (const line of text.out.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
    expect(text.out + text.err).not.toContain(PASSWORD);
  });

  it('serve: all problems of the settings at once, and the process exits with 2', async () => {
    const env = { ...(await settings()), CACHE_TIME: 'x', STRICT: 'maybe', BODY_LIMIT: '-1' };
    const { text, ended } = start(['serve', '--port', 'http'], env);
    expect(await ended).toBe(2);
    for (const name of ['CACHE_TIME', 'STRICT', 'BODY_LIMIT', '--port']) expect(text.err).toContain(name);
    expect(text.out).toBe('');
  });

  it('serve: exit code 3 when the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const { text, ended } = start(['serve', '--port', String(port)], await settings());
    expect(await ended).toBe(3);
    expect(text.err).toContain(String(port));
  });

  it('validate: exit code and output of a process', async () => {
    const { DESIRED_STATE = '' } = await settings();
    const fine = start(['validate', DESIRED_STATE, '--format', 'json'], {});
    expect(await fine.ended).toBe(0);
    expect(JSON.parse(fine.text.out)).toMatchObject({ problems: [], steps: [] });
    const wrong = start(['validate', DESIRED_STATE, '--format', 'xml'], {});
    expect(await wrong.ended).toBe(2);
  });
});
