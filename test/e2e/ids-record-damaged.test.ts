import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  expectFollows,
  logged,
  startRecordedFleet,
  statusOf,
  WEB,
  webId,
} from '../support/fleet-with-history.ts';
import { loseStore } from '../support/lost-store.ts';
import type { TestManager } from '../support/manager.ts';
import { changeMeta, RECORD, recordFiles, replaceRecord } from '../support/record-files.ts';

/** Completes `a record that ...`, and does it. */
type Damage = [what: string, damage: (manager: TestManager) => Promise<unknown>];

const DAMAGES: Damage[] = [
  ['has other files', ({ repository }) => replaceRecord(repository, { 'notes.txt': 'hello\n' })],
  [
    'lacks a file',
    async ({ repository }) => {
      const { '00.json': _, ...files } = await recordFiles(repository);
      const [missing] = Object.keys(files).filter((name) => name !== 'meta.json');
      const left = Object.entries(files).filter(([name]) => name !== missing);
      await replaceRecord(repository, Object.fromEntries(left));
    },
  ],
  ['has the unknown version 0', ({ repository }) => changeMeta(repository, { format: 0 })],
  [
    'has a format that only a later version of Holdfast reads',
    ({ repository }) => changeMeta(repository, { format: 2, more: true }),
  ],
  [
    'is a blob',
    async ({ repository: { git } }) =>
      git('update-ref', RECORD, await git('rev-parse', 'HEAD:desired-state/apps/web.yaml')),
  ],
  [
    'is a ref to a missing object',
    ({ repository }) => writeFile(join(repository.folder, '.git', RECORD), `${'1'.repeat(40)}\n`),
  ],
  [
    'has a folder',
    async ({ repository }) =>
      replaceRecord(repository, { ...(await recordFiles(repository)), 'more/of.it': 'x' }),
  ],
  [
    'is too large',
    async ({ repository }) =>
      replaceRecord(repository, { ...(await recordFiles(repository)), 'aa.json': ' '.repeat(2 ** 24 + 1) }),
  ],
  ['names another folder', ({ repository }) => changeMeta(repository, { folder: 'other' })],
  [
    'names a branch, which a clone does not have',
    ({ repository }) => changeMeta(repository, { branch: 'refs/heads/main' }),
  ],
  ['has ids above its stated highest id', ({ repository }) => changeMeta(repository, { highest: 7 })],
];

describe('a damaged record', () => {
  it.each(DAMAGES)(
    'that %s is reported and rewritten after a lost store, which starts at the floor',
    async (_, damage) => {
      const [manager, worker] = await startRecordedFleet();
      await manager.stop();
      await damage(manager);
      const next = await loseStore(manager);
      const { ids_seeded, ids_record, state } = await statusOf(next);
      expect(state).toBe('applied');
      expect(ids_seeded).toMatchObject({ cause: 'no-counters', record: 'damaged', kept: 0 });
      expect(await webId(next)).toBe(ids_seeded.floor);
      expect(ids_record).toMatchObject({ problem: null, replaced: { message: expect.any(String) } });
      expect(logged(next, 'the record of ids could not be read and was rewritten')).toHaveLength(1);
      await expectFollows(worker, next);
      const before = await webId(next);
      expect(await webId(await loseStore(next))).toBe(before);
    },
  );

  it.each(DAMAGES)('that %s is rewritten from an intact store', async (_, damage) => {
    const [manager, worker] = await startRecordedFleet();
    await manager.stop();
    await damage(manager);
    const next = await manager.restart();
    await expect.poll(async () => (await statusOf(next)).ids_record.replaced).not.toBeNull();
    expect((await statusOf(next)).ids_seeded).toBeNull();
    await expectFollows(worker, next);
    const before = await webId(next);
    expect(await webId(await loseStore(next))).toBe(before);
  });
});

/** The highest id that is read from a record. */
const LIMIT = 2 ** 52;

describe('a record whose numbers have reached their limit', () => {
  it.each<[string, (files: Record<string, string>) => Record<string, string>]>([
    ['the ids', (files) => mapFiles(files, (row) => row.with(2, LIMIT), { highest: LIMIT })],
    ['the sequence', (files) => mapFiles(files, (row) => row, { idSequence: LIMIT })],
  ])('%s: writes go on, higher numbers are not recorded, and the status says so', async (_, raise) => {
    const [manager] = await startRecordedFleet();
    await manager.stop();
    const { repository } = manager;
    await replaceRecord(repository, raise(await recordFiles(repository)));
    const next = await loseStore(manager);
    expect((await next.put(`${WEB}/update`, { container_image: 'changed:1' })).status).toBe(202);
    expect(await webId(next)).toBeLessThan(Number.MAX_SAFE_INTEGER);
    const problem = async () => (await statusOf(next)).ids_record.problem?.message;
    await expect.poll(problem).toMatch(/reached their limit/);
    const again = await next.restart();
    await expect.poll(async () => (await statusOf(again)).ids_record.problem).not.toBeNull();
    expect((await statusOf(again)).ids_record.replaced).toBeNull();
    expect((await again.get(WEB)).body.container_image).toBe('changed:1');
  });
});

/** Changes the rows of all files, and the fields of `meta` in `meta.json`. */
function mapFiles(
  files: Readonly<Record<string, string>>,
  change: (row: unknown[]) => unknown[],
  meta: object,
): Record<string, string> {
  const entries = Object.entries(files).map(([name, text]): [string, string] => {
    const value = JSON.parse(text);
    return [name, JSON.stringify(name === 'meta.json' ? { ...value, ...meta } : value.map(change))];
  });
  return Object.fromEntries(entries);
}
