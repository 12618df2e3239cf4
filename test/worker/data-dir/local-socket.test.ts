import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { askSocket } from '../../../src/worker/data-dir/local-request.ts';
import {
  type LocalCommands,
  type LocalSocket,
  openLocalSocket,
} from '../../../src/worker/data-dir/local-socket.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { PROJECT, startProcess } from '../../support/project.ts';

const COMMANDS: LocalCommands = {
  status: () => ({ fine: true }),
  retry: (app) => app === 'web',
  forgetIds: () => undefined,
};

async function open(folder: string, commands: LocalCommands | null = COMMANDS): Promise<LocalSocket> {
  const socket = await openLocalSocket(folder);
  onTestFinished(() => socket.close());
  if (commands !== null) socket.serve(commands);
  return socket;
}

function ask(folder: string, path: string, method: 'GET' | 'POST' = 'GET') {
  return askSocket(join(folder, 'worker.sock'), { method, path });
}

/** A process that listens on the socket of a folder and is then killed, which leaves the file. */
async function leaveStaleSocket(folder: string): Promise<void> {
  const path = join(folder, 'worker.sock');
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('listens'))`;
  const { child, waitFor, ended } = startProcess(process.execPath, ['-e', script], { cwd: PROJECT, env: {} });
  await waitFor(/listens/);
  child.kill('SIGKILL');
  await ended;
  await stat(path);
}

describe('the socket of a worker', () => {
  it('answers commands', async () => {
    const folder = await temporaryFolder();
    const done: string[] = [];
    const socket = await open(folder, {
      status: () => ({ apps: [], name: 'ä' }),
      retry: async (app) => done.push(`retry ${app}`) > 0 && app === 'web shop',
      forgetIds: () => void done.push('forget'),
    });
    expect(await ask(folder, '/status')).toEqual({ status: 200, body: { apps: [], name: 'ä' } });
    expect(await ask(folder, '/retry?app=web%20shop', 'POST')).toMatchObject({ status: 200 });
    expect(await ask(folder, '/retry?app=other', 'POST')).toEqual({
      status: 404,
      body: { error: 'this device has no app "other"' },
    });
    expect(await ask(folder, '/forget-ids', 'POST')).toMatchObject({ status: 200 });
    expect(await ask(folder, '/nothing')).toMatchObject({ status: 404 });
    expect(await ask(folder, '/retry?app=web')).toMatchObject({ status: 404 });
    expect(done).toEqual(['retry web shop', 'retry other', 'forget']);
    await socket.close();
    expect(await readdir(folder)).toEqual([]);
    expect(await ask(folder, '/status')).toBeNull();
  });

  it('is for its owner only', async () => {
    const folder = await temporaryFolder();
    await open(folder);
    expect((await stat(join(folder, 'worker.sock'))).mode & 0o777).toBe(0o600);
  });

  it('says that the worker is starting until it serves', async () => {
    const folder = await temporaryFolder();
    const socket = await open(folder, null);
    expect(await ask(folder, '/status')).toEqual({ status: 503, body: { error: 'the worker is starting' } });
    socket.serve(COMMANDS);
    expect(await ask(folder, '/status')).toMatchObject({ status: 200 });
  });

  it('answers with the error of a command that fails', async () => {
    const folder = await temporaryFolder();
    await open(folder, { ...COMMANDS, forgetIds: () => Promise.reject(new Error('disk full')) });
    expect(await ask(folder, '/forget-ids', 'POST')).toEqual({ status: 500, body: { error: 'disk full' } });
  });

  it('is absent without a folder or a worker', async () => {
    const folder = await temporaryFolder();
    expect(await ask(folder, '/status')).toBeNull();
    expect(await ask(join(folder, 'no'), '/status')).toBeNull();
    expect(await ask(join(folder, 'x'.repeat(150)), '/status')).toBeNull();
  });
});

describe('the lock of DATA_DIR', () => {
  it('keeps a second worker out, names the first, and is free once that is closed', async () => {
    const folder = await temporaryFolder();
    const first = await open(folder);
    await expect(openLocalSocket(folder)).rejects.toMatchObject({
      kind: 'present',
      message: `another worker (process ${process.pid}) uses ${folder}; stop it, or set DATA_DIR to another folder`,
    });
    expect(await ask(folder, '/status')).toMatchObject({ status: 200 });
    await first.close();
    await open(folder);
  });

  it('keeps a second worker out while the first does not answer', async () => {
    const folder = await temporaryFolder();
    const silent = createServer().listen(join(folder, 'worker.sock'));
    onTestFinished(() => void silent.close());
    await expect(openLocalSocket(folder)).rejects.toMatchObject({
      kind: 'present',
      message: expect.stringMatching(/^another worker uses /),
    });
  });

  it.each([
    ['a killed worker left', leaveStaleSocket],
    ['is a file and no socket', (folder: string) => writeFile(join(folder, 'worker.sock'), '')],
  ])('is taken over if the socket %s', async (_name, prepare) => {
    const folder = await temporaryFolder();
    await prepare(folder);
    await open(folder);
    expect(await ask(folder, '/status')).toMatchObject({ status: 200 });
    expect(await readdir(folder)).toEqual(['worker.sock']);
  });

  it('fails with the error of the system in a folder that is not there', async () => {
    const folder = await temporaryFolder();
    await rm(folder, { recursive: true });
    await expect(openLocalSocket(folder)).rejects.toMatchObject({
      code: expect.stringMatching(/ENOENT|EACCES/),
    });
    await mkdir(folder);
  });

  it('cannot be had at a path that is longer than the system takes for a socket', async () => {
    const folder = join(await temporaryFolder(), 'd'.repeat(120));
    await mkdir(folder);
    await expect(openLocalSocket(folder)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/longer than 107 bytes: .*; set DATA_DIR to a shorter path$/),
    });
    expect(await readdir(folder)).toEqual([]);
  });
});
