import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type RunMode, runWorkerCommand } from '../../src/worker/command.ts';
import { type LocalCommands, openLocalSocket } from '../../src/worker/data-dir/local-socket.ts';
import { WORKER_SETTINGS, type WorkerConfig } from '../../src/worker/settings.ts';
import { temporaryFolder } from '../support/folder.ts';
import { app, deviceStatus } from './support.ts';

const ENV = { MANAGER: 'http://127.0.0.1:8080', DEVICE_GROUP: 'edge' };

/** Runs a command line of `holdfast worker`; a worker is not started, but noted. */
async function run(args: readonly string[], env: Record<string, string> = ENV) {
  const result = { code: -1, out: '', err: '', ran: null as { config: WorkerConfig; mode: RunMode } | null };
  result.code = await runWorkerCommand(args, {
    env,
    readFile: () => {
      throw new Error('no files');
    },
    write: (text) => {
      result.out += text;
    },
    writeError: (text) => {
      result.err += text;
    },
    now: () => 1_000_100_000,
    columns: null,
    version: '1.2.3',
    run: async (config, mode) => {
      result.ran = { config, mode };
      return 0;
    },
  });
  return result;
}

/** A data folder with a running worker that answers like this. */
async function workerAt(commands: Partial<LocalCommands> | null): Promise<string> {
  const folder = await temporaryFolder();
  const socket = await openLocalSocket(folder);
  onTestFinished(() => socket.close());
  if (commands !== null)
    socket.serve({
      status: () => deviceStatus(),
      retry: () => true,
      forgetIds: () => undefined,
      ...commands,
    });
  return folder;
}

describe('holdfast worker', () => {
  it.each<[string, string[], RunMode]>([
    ['forever', [], 'forever'],
    ['once', ['--once'], 'once'],
    ['without doing anything', ['--log-level', 'debug', '--dry-run'], 'dry-run'],
    [
      'forever if --once is the value of a flag',
      ['--device-auth-user', 'a', '--device-auth-password', '--once'],
      'forever',
    ],
  ])('runs %s', async (_name, args, mode) => {
    expect(await run(args)).toMatchObject({ code: 0, err: '', ran: { mode } });
  });

  it('takes flags before variables', async () => {
    const { ran } = await run(['--device-group=lab', '--once', '--data-dir', '/data']);
    expect(ran?.config).toMatchObject({ DEVICE_GROUP: 'lab', DATA_DIR: '/data', MANAGER: ENV.MANAGER });
  });

  it.each([[['--help']], [['-h']], [['help']], [['status', '--help']]])(
    'shows its help for %j',
    async (args) => {
      const { code, out } = await run(args, {});
      expect(code).toBe(0);
      for (const name of Object.keys(WORKER_SETTINGS))
        expect(out).toMatch(new RegExp(`^ {2}${name}, --`, 'm'));
      expect(out).toMatch(/^ {2}MANAGER, --manager \(required\)\n {6}address/m);
      expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
      for (const command of ['status', 'retry APP', 'forget-ids', '--once', '--dry-run'])
        expect(out).toContain(`holdfast worker ${command}`);
      expect(out.split('\n').filter((line) => line !== line.trimEnd())).toEqual([]);
    },
  );

  it.each<[string, string[], Record<string, string>, string]>([
    [
      'without settings',
      [],
      {},
      'invalid settings:\n  set MANAGER (or --manager): address of the manager, such as https://',
    ],
    [
      'with a misspelt flag',
      ['--device-gruop', 'x'],
      ENV,
      '--device-gruop is not a flag; did you mean --device-group?',
    ],
    [
      'with a misspelt command',
      ['statsu'],
      ENV,
      '"statsu" is not a command of worker, which has status, retry, forget-ids; did you mean status?',
    ],
    ['with two modes', ['--once', '--dry-run'], ENV, '--once and --dry-run exclude each other'],
    ['to retry nothing', ['retry'], ENV, 'name the app: holdfast worker retry APP'],
    ['for the status of something', ['status', 'web'], ENV, '"web" is not expected here'],
    [
      'for the status with a flag of the worker',
      ['status', '--device-group', 'x'],
      ENV,
      '--device-group is not a flag',
    ],
  ])('ends with 2 %s', async (_name, args, env, text) => {
    const { code, out, err, ran } = await run(args, env);
    expect([code, out, ran]).toEqual([2, '', null]);
    expect(err).toContain(text);
    expect(err).toMatch(/Try "holdfast worker --help"\.\n$/);
  });
});

describe('holdfast worker status', () => {
  it.each<[string, ReturnType<typeof deviceStatus>, number]>([
    ['0 if all is as wanted', deviceStatus(), 0],
    ['1 if an app is not', deviceStatus({ apps: [app({ state: 'failing' })] }), 1],
    ['1 if the manager is lost', deviceStatus({ manager: { ...deviceStatus().manager, is_lost: true } }), 1],
  ])('ends with %s', async (_name, status, code) => {
    const folder = await workerAt({ status: () => status });
    const text = await run(['status', '--data-dir', folder]);
    expect(text).toMatchObject({ code, err: '' });
    expect(text.out).toMatch(/^Device +shop-17 in the device group edge\n/);
    const json = await run(['status', '--json'], { DATA_DIR: folder });
    expect(json.code).toBe(code);
    expect(JSON.parse(json.out)).toEqual(status);
  });

  it('ends with 1 while the worker starts', async () => {
    const folder = await workerAt(null);
    expect(await run(['status'], { DATA_DIR: folder })).toMatchObject({
      code: 1,
      out: '',
      err: 'holdfast: the worker is starting\n',
    });
  });

  it.each([
    ['status', ['status']],
    ['retry', ['retry', 'web']],
    ['forget-ids', ['forget-ids']],
  ])('as well as %s ends with 3 if no worker runs, and says where it looked', async (_name, args) => {
    const folder = join(await temporaryFolder(), 'data');
    expect(await run(args, { DATA_DIR: folder })).toMatchObject({
      code: 3,
      out: '',
      err: `holdfast: no worker runs with the data folder ${folder}; --data-dir or DATA_DIR names that of the worker\n`,
    });
  });
});

describe('holdfast worker retry and forget-ids', () => {
  it('reach the running worker', async () => {
    const done: string[] = [];
    const folder = await workerAt({
      retry: (name) => done.push(name) > 0,
      forgetIds: () => void done.push('ids'),
    });
    expect(await run(['retry', 'web', '--data-dir', folder])).toMatchObject({ code: 0, err: '' });
    expect(await run(['forget-ids'], { DATA_DIR: folder })).toMatchObject({ code: 0, err: '' });
    expect(done).toEqual(['web', 'ids']);
  });

  it('end with 1 for an app that the device does not have', async () => {
    const folder = await workerAt({ retry: () => false });
    expect(await run(['retry', 'wbe'], { DATA_DIR: folder })).toMatchObject({
      code: 1,
      err: 'holdfast: this device has no app "wbe"\n',
    });
  });
});
