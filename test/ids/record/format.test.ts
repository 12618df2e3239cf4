import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentHash } from '../../../src/ids/content-hash.ts';
import type { CounterRow } from '../../../src/ids/id-store.ts';
import {
  decodeRecord,
  encodeMeta,
  highestId,
  META,
  type RecordContent,
  type RecordMeta,
  shardOf,
} from '../../../src/ids/record/format.ts';
import { areBehind, encodeFilesOf } from '../../../src/ids/record/rows.ts';
import { appDefaults } from '../../../src/protocol/app.ts';

const ABOUT: Omit<RecordMeta, 'rows' | 'highest'> = {
  fleet: 'a'.repeat(32),
  folder: 'desired-state',
  branch: null,
  idSequence: 7,
  revision: 'b'.repeat(40),
};
const WEB: CounterRow = { kind: 'app', name: 'web', last: 5, hash: 'd'.repeat(32) };
const DELETED: CounterRow = { kind: 'app', name: 'gone', last: 7, hash: null };

async function filesOf(rows: readonly CounterRow[], about = ABOUT): Promise<Map<string, string>> {
  const files = await encodeFilesOf(rows, rows);
  return files.set(META, encodeMeta({ ...about, rows: rows.length, highest: highestId(rows) }));
}

const decode = (files: ReadonlyMap<string, string>): Promise<RecordContent | string> =>
  decodeRecord({ tip: 'e'.repeat(40), at: 0, writer: '', files }, 'desired-state');

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const row: fc.Arbitrary<CounterRow> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('app' as const, 'device_group' as const),
    name,
    last: fc.nat({ max: 2 ** 40 }),
    hash: fc.option(fc.stringMatching(/^[0-9a-f]{32}$/)),
  }),
  fc.record({ kind: fc.constant('prune' as const), name, last: fc.nat(), hash: fc.constant(null) }),
);
const rows = fc.uniqueArray(row, { maxLength: 60, selector: (one) => `${one.kind}/${one.name}` });
const sorted = (list: readonly CounterRow[]) => list.map((one) => JSON.stringify(one)).sort();

describe('a record of ids', () => {
  it('is read with the same rows and meta data as it was written', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (list) => {
        const record = await decode(await filesOf(list));
        if (typeof record === 'string') throw new Error(record);
        expect(record.meta).toMatchObject(ABOUT);
        expect(sorted(record.rows)).toEqual(
          sorted(list.map(({ kind, name, last, hash }) => ({ kind, name, last, hash }))),
        );
        expect(await filesOf(record.rows)).toEqual(await filesOf(list));
      }),
    );
  });

  it('has the same files for any order of its rows', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (list) => {
        const reversed = await filesOf([...list].reverse());
        expect(Object.fromEntries(reversed)).toEqual(Object.fromEntries(await filesOf(list)));
      }),
    );
  });

  it('has the other rows of the file of a changed row, too, and is encoded no further', async () => {
    const others = Array.from({ length: 600 }, (_, index) => ({ ...WEB, name: `web-${index}` }));
    const all = await encodeFilesOf(others, others);
    const [one] = others;
    const file = shardOf('web-0');
    expect(await encodeFilesOf(one === undefined ? [] : [one], others)).toEqual(
      new Map([[file, all.get(file)]]),
    );
  });
});

describe('the counters of a store', () => {
  it.each<[string, CounterRow, boolean]>([
    ['behind a higher id', { ...WEB, last: 6 }, true],
    ['behind the same id of other content', { ...WEB, hash: 'e'.repeat(32) }, true],
    ['behind a name that has no counter', { ...WEB, name: 'new' }, true],
    ['behind another kind of id that has no counter', { ...WEB, kind: 'device_group' }, true],
    ['not behind the same row', WEB, false],
    ['not behind a lower id, whatever its content', { ...WEB, last: 4, hash: 'e'.repeat(32) }, false],
    [
      'not behind the same id of an object that was deleted when it was recorded',
      { ...WEB, hash: null },
      false,
    ],
    ['not behind the id of an object that was deleted since', { ...DELETED, hash: WEB.hash }, false],
  ])('are %s', async (_, recorded, expected) => {
    expect(await areBehind([WEB, DELETED], [recorded])).toBe(expected);
    expect(await areBehind([WEB, DELETED], [recorded, WEB])).toBe(expected);
  });
});

const WRITTEN = {
  '4b.json': '[\n["app","web",2,"251a030b8e67d50bdaa15247b278e234"]\n]\n',
  'a1.json': '[\n["device_group","edge",1,"d4c21c56c5659672d294cc7d83ab9814"],\n["prune","edge",1,null]\n]\n',
  'meta.json':
    '{\n  "format": 1,\n  "fleet": "a871d890dfa9be83476bf0c565a2f69d",\n  "folder": "desired-state",\n  "branch": null,\n' +
    '  "idSequence": 4,\n  "revision": "56b495f1ec7389d1a696bedc7f75e49ef9831ad7",\n' +
    '  "rows": 3,\n  "highest": 2\n}\n',
};

it('reads and writes the format of version 0.1.0, with the same hashes', async () => {
  const files = new Map(Object.entries(WRITTEN));
  const record = await decode(files);
  if (typeof record === 'string') throw new Error(record);
  const web = { ...appDefaults(['nebula', 'bridge']), container_image: 'nginx:1' };
  expect(record.rows).toEqual([
    { kind: 'app', name: 'web', last: 2, hash: contentHash('app', web) },
    { kind: 'device_group', name: 'edge', last: 1, hash: contentHash('device_group', { apps: ['web'] }) },
    { kind: 'prune', name: 'edge', last: 1, hash: null },
  ]);
  expect(await filesOf(record.rows, record.meta)).toEqual(files);
});

const shard = shardOf('web');
const WEB_FILES = await filesOf([WEB]);
const validRow = '["app","web",5,null]';

function metaWith(changes: object): string {
  return JSON.stringify({ ...JSON.parse(WEB_FILES.get('meta.json') ?? ''), ...changes });
}

describe('decodeRecord', () => {
  it.each([
    ['without a meta file', { 'meta.json': null }],
    ['whose meta file is not JSON', { 'meta.json': '{' }],
    ['whose meta file is a list', { 'meta.json': '[]' }],
    ['of another version of the format', { 'meta.json': metaWith({ format: 2 }) }],
    ['whose meta file is far too long', { 'meta.json': `${metaWith({})}${' '.repeat(70_000)}` }],
    ['with an additional field', { 'meta.json': metaWith({ more: 1 }) }],
    ['with an invalid fleet id', { 'meta.json': metaWith({ fleet: '--all' }) }],
    ['with an invalid revision', { 'meta.json': metaWith({ revision: 'HEAD' }) }],
    ['with a folder that is too long', { 'meta.json': metaWith({ folder: 'x'.repeat(5000) }) }],
    ['with a sequence that is not a number', { 'meta.json': metaWith({ idSequence: '7' }) }],
    ['with fewer rows than its meta file states', { 'meta.json': metaWith({ rows: 2 }) }],
    ['with more rows than its meta file states', { 'meta.json': metaWith({ rows: 0 }) }],
    ['with a higher id than its meta file states', { 'meta.json': metaWith({ highest: 4 }) }],
    ['with a lower id than its meta file states', { 'meta.json': metaWith({ highest: 6 }) }],
    ['with an invalid branch', { 'meta.json': metaWith({ branch: 5 }) }],
    ['of another folder', { 'meta.json': metaWith({ folder: 'other' }) }],
    ['of a branch', { 'meta.json': metaWith({ branch: 'refs/heads/main' }) }],
    ['with rows that are not JSON', { [shard]: 'x' }],
    ['with rows that are not a list', { [shard]: '{"0": []}' }],
    ['with rows in a list of lists', { [shard]: `[[${validRow}]]` }],
    ['nested too deeply', { [shard]: '['.repeat(100_000) }],
    ['with a row of an unknown kind', { [shard]: '[["report","web",5,null]]' }],
    ['with a row that is too long', { [shard]: '[["app","web",5,null,1]]' }],
    ['with a row that is too short', { [shard]: '[["app","web",5]]' }],
    ['with an invalid name', { [shardOf('../web')]: '[["app","../web",5,null]]', [shard]: '[]' }],
    ['with the name __proto__', { [shardOf('__proto__')]: '[["app","__proto__",5,null]]', [shard]: '[]' }],
    ['with a negative id', { [shard]: '[["app","web",-1,null]]' }],
    ['with a fractional id', { [shard]: '[["app","web",1.5,null]]' }],
    ['with an id that is a string', { [shard]: '[["app","web","5",null]]' }],
    ['with an id above the exact integers', { [shard]: '[["app","web",9007199254740993,null]]' }],
    ['with an enormous id', { [shard]: '[["app","web",1e300,null]]' }],
    ['with an invalid hash', { [shard]: '[["app","web",5,"x"]]' }],
    ['with a hash for a prune id', { [shard]: `[["prune","web",5,"${'d'.repeat(32)}"]]` }],
    ['with a duplicate row', { [shard]: `[${validRow},${validRow}]`, 'meta.json': metaWith({ rows: 2 }) }],
    [
      'with a row in the wrong file',
      { [shard]: null, [shard === '00.json' ? '01.json' : '00.json']: `[${validRow}]` },
    ],
    ['with an unknown file', { 'more.json': '[["app","more",5,null]]', 'meta.json': metaWith({ rows: 2 }) }],
  ] as [string, Record<string, string | null>][])('refuses a record %s', async (_, changes) => {
    const files = new Map(WEB_FILES);
    for (const [file, text] of Object.entries(changes)) {
      if (text === null) files.delete(file);
      else files.set(file, text);
    }
    expect(await decode(files)).toEqual(expect.any(String));
  });

  it.each([
    ['millions of levels', '['.repeat(8_000_000) + ']'.repeat(8_000_000)],
    ['a million rows that are not valid', `[${'["app","-",-1,"x"],'.repeat(1_000_000)}1]`],
  ])('refuses a file with %s in a moment, without a list of all that is wrong', async (_, text) => {
    const files = new Map(WEB_FILES).set(shard, text);
    // Processor time, in microseconds: on a busy machine the clock says little.
    const start = process.cpuUsage();
    expect(await decode(files)).toEqual(expect.any(String));
    expect(process.cpuUsage(start).user).toBeLessThan(3_000_000);
  });

  it('refuses random files without throwing', async () => {
    const file = fc.oneof(fc.constantFrom('meta.json', shard), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.dictionary(file, fc.oneof(fc.json(), fc.string())), async (files) => {
        expect(await decode(new Map(Object.entries(files)))).toEqual(expect.any(String));
      }),
    );
  });
});
