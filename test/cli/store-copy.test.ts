import { describe, expect, it } from 'vitest';
import type { CopyStore } from '../../src/cli/store-copy.ts';
import { HoldfastError } from '../../src/errors.ts';
import { runCli } from '../support/command.ts';

const URI = 'mongodb://ann:hunter2@one/';

/** A copy that copies nothing: it reports progress, and adds the data folder and target of each call to `calls`. */
function recordCopy(calls: unknown[]): CopyStore {
  return async (config, to, onProgress) => {
    calls.push([config.DATA_DIR, to]);
    onProgress({ part: 'objects', rows: 500, alreadyCopied: 0, isCheck: false });
    onProgress({ part: 'reports', rows: 3, alreadyCopied: 2, isCheck: false });
    onProgress({ part: 'objects', rows: 700, alreadyCopied: 9, isCheck: true });
    return { objects: { rows: 700, alreadyCopied: 0 }, reports: { rows: 3, alreadyCopied: 2 } };
  };
}

describe('store copy', () => {
  it('copies the store of the settings, and reports the copied rows', async () => {
    const calls: unknown[] = [];
    const env = { DATA_DIR: '/var/lib/holdfast' };
    const { code, out, err } = await runCli(['store', 'copy', '--to', URI], {
      env,
      copyStore: recordCopy(calls),
    });
    expect([code, out, err]).toEqual([
      0,
      'copied and verified: 700 objects, 3 reports (2 already copied)\n',
      '',
    ]);
    expect(calls).toEqual([['/var/lib/holdfast', URI]]);
  });

  it('shows its progress on a terminal', async () => {
    const { err } = await runCli(['store', 'copy', '--to', 'x'], {
      isTerminal: true,
      copyStore: recordCopy([]),
    });
    expect(err.split('\r\u001b[K')).toEqual([
      '',
      'copied: 500 objects',
      'copied: 3 reports (2 already copied)',
      'verified: 700 objects',
      '',
    ]);
  });

  it.each([
    [['store']],
    [['store', 'move']],
    [['store', 'move', '--to', 'x']],
    [['store', 'copy']],
    [['store', 'copy', URI]],
    [['store', 'copy', '--to', '']],
    [['store', 'copy', '--to', 'x', URI]],
    [['store', 'copy', '--form', URI]],
  ])('refuses %j without repeating the password', async (argv) => {
    const calls: unknown[] = [];
    const { code, err } = await runCli(argv, { copyStore: recordCopy(calls) });
    expect([code, calls]).toEqual([2, []]);
    expect(err).toContain('--to TARGET');
    expect(err).not.toContain('hunter2');
  });

  it.each([
    'mongo://ann:hunter2@one/',
    'mongodb:/ann:hunter2@one/',
    'MONGODB://ann:hunter2@one/',
    'mongo-ann:hunter2@one/',
    'https://one/hunter2',
    'ann:hunter2@one',
  ])('refuses %s, which is neither an address of MongoDB nor a folder', async (to) => {
    const calls: unknown[] = [];
    const { code, err } = await runCli(['store', 'copy', '--to', to], { copyStore: recordCopy(calls) });
    expect([code, calls]).toEqual([2, []]);
    expect(err).toContain('mongodb:// or mongodb+srv:// address');
    expect(err).not.toContain('hunter2');
  });

  it('reports invalid settings', async () => {
    const { code, err } = await runCli(['store', 'copy', '--to', 'x'], { env: { PORT: 'x' } });
    expect(code).toBe(2);
    expect(err).toContain('PORT must be');
  });

  it.each([
    ['invalid', 2],
    ['conflict', 3],
    ['unavailable', 3],
  ] as const)('exits after an error of the kind %s with %i', async (kind, exit) => {
    const copyStore = () => Promise.reject(new HoldfastError(kind, 'there is a store already'));
    const { code, err } = await runCli(['store', 'copy', '--to', 'x'], { copyStore });
    expect([code, err.split('\n')[0]]).toEqual([exit, 'holdfast: there is a store already']);
  });
});
