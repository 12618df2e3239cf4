import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appDefaults } from '../../../src/desired/app.ts';
import {
  decodeSection,
  encodeMeta,
  META,
  type SectionMeta,
  shardOf,
} from '../../../src/reconcile/record/format.ts';
import { Shards } from '../../../src/reconcile/record/shards.ts';
import { contentHash } from '../../../src/store/content-hash.ts';
import type { CounterRow } from '../../../src/store/store.ts';

const ABOUT: Omit<SectionMeta, 'rows' | 'highest'> = {
  fleet: 'a'.repeat(32),
  folder: 'desired-state',
  branch: null,
  idSequence: 7,
  revision: 'b'.repeat(40),
  tree: 'c'.repeat(40),
};
const WEB: CounterRow = { kind: 'app', name: 'web', last: 5, hash: 'd'.repeat(32) };
const EDGE: CounterRow[] = [
  { kind: 'device_group', name: 'edge', last: 2, hash: null },
  { kind: 'prune', name: 'edge', last: 3, hash: null },
];

async function filesOf(rows: readonly CounterRow[], about = ABOUT): Promise<Map<string, string>> {
  const shards = new Shards();
  const files = await shards.changed(await shards.add(rows), new Map());
  return new Map([...files, [META, encodeMeta({ ...about, ...shards.totals })]]);
}

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

describe('a record', () => {
  it('is read as it was written, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (list) => {
        const record = decodeSection(await filesOf(list));
        if (typeof record === 'string') throw new Error(record);
        expect(record.meta).toMatchObject(ABOUT);
        expect(sorted(record.rows)).toEqual(
          sorted(list.map(({ kind, name, last, hash }) => ({ kind, name, last, hash }))),
        );
        expect(await filesOf(record.rows)).toEqual(await filesOf(list));
      }),
    );
  });

  it('has the same texts in whatever order the rows come', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (list) => {
        const turned = await filesOf([...list].reverse());
        expect(Object.fromEntries(turned)).toEqual(Object.fromEntries(await filesOf(list)));
      }),
    );
  });

  it('changes in the file of a row alone', async () => {
    const shards = new Shards();
    const texts = await shards.changed(await shards.add([WEB, ...EDGE]), new Map());
    expect(await shards.changed(await shards.add([WEB]), texts)).toEqual(new Map());
    const changed = await shards.changed(await shards.add([{ ...WEB, last: 6 }]), texts);
    expect([...changed.keys()]).toEqual([shardOf('web')]);
  });

  it('that lost its last row is written without it', async () => {
    const texts = await filesOf([WEB]);
    const changed = await new Shards().changed(texts.keys(), texts);
    const record = decodeSection(
      new Map([...changed, [META, encodeMeta({ ...ABOUT, ...new Shards().totals })]]),
    );
    expect(record).toMatchObject({ meta: ABOUT, rows: [] });
  });
});

const WRITTEN = {
  '4b.json': '[\n["app","web",2,"251a030b8e67d50bdaa15247b278e234"]\n]\n',
  'a1.json': '[\n["device_group","edge",1,"d4c21c56c5659672d294cc7d83ab9814"],\n["prune","edge",1,null]\n]\n',
  'meta.json':
    '{\n  "format": 1,\n  "fleet": "a871d890dfa9be83476bf0c565a2f69d",\n  "folder": "desired-state",\n  "branch": null,\n' +
    '  "idSequence": 4,\n  "revision": "56b495f1ec7389d1a696bedc7f75e49ef9831ad7",\n' +
    '  "tree": "6424dc5a0310999ff069cc0bbd8f8fdece7a4690",\n  "rows": 3,\n  "highest": 2\n}\n',
};

it('reads and writes the format of version 0.1.0, with the same hashes', async () => {
  const files = new Map(Object.entries(WRITTEN));
  const record = decodeSection(files);
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
const good = '["app","web",5,null]';

function metaWith(changes: object): string {
  return JSON.stringify({ ...JSON.parse(WEB_FILES.get('meta.json') ?? ''), ...changes });
}

describe('a record of somebody else’s making', () => {
  it.each([
    ['without a meta file', { 'meta.json': null }],
    ['whose meta file is no JSON', { 'meta.json': '{' }],
    ['whose meta file is a list', { 'meta.json': '[]' }],
    ['of another version', { 'meta.json': metaWith({ format: 2 }) }],
    ['with a field too much', { 'meta.json': metaWith({ more: 1 }) }],
    ['with a fleet that is none', { 'meta.json': metaWith({ fleet: '--all' }) }],
    ['with a revision that is none', { 'meta.json': metaWith({ revision: 'HEAD' }) }],
    ['with a tree that is none', { 'meta.json': metaWith({ tree: '--all' }) }],
    ['with a long folder', { 'meta.json': metaWith({ folder: 'x'.repeat(5000) }) }],
    ['with a sequence that is no number', { 'meta.json': metaWith({ idSequence: '7' }) }],
    ['with fewer rows than it says', { 'meta.json': metaWith({ rows: 2 }) }],
    ['with more rows than it says', { 'meta.json': metaWith({ rows: 0 }) }],
    ['with a higher id than it says', { 'meta.json': metaWith({ highest: 4 }) }],
    ['with a lower id than it says', { 'meta.json': metaWith({ highest: 6 }) }],
    ['with a branch that is none', { 'meta.json': metaWith({ branch: 5 }) }],
    ['with rows that are no JSON', { [shard]: 'x' }],
    ['with rows that are no list', { [shard]: '{"0": []}' }],
    ['with rows in a list of lists', { [shard]: `[[${good}]]` }],
    ['nested without end', { [shard]: '['.repeat(100_000) }],
    ['with a row of an unknown kind', { [shard]: '[["report","web",5,null]]' }],
    ['with a row too long', { [shard]: '[["app","web",5,null,1]]' }],
    ['with a row too short', { [shard]: '[["app","web",5]]' }],
    ['with a name that is none', { [shardOf('../web')]: '[["app","../web",5,null]]', [shard]: '[]' }],
    ['with __proto__ for a name', { [shardOf('__proto__')]: '[["app","__proto__",5,null]]', [shard]: '[]' }],
    ['with a negative id', { [shard]: '[["app","web",-1,null]]' }],
    ['with half an id', { [shard]: '[["app","web",1.5,null]]' }],
    ['with an id as a text', { [shard]: '[["app","web","5",null]]' }],
    ['with an id that is not exact', { [shard]: '[["app","web",9007199254740993,null]]' }],
    ['with an id beyond all room', { [shard]: '[["app","web",1e300,null]]' }],
    ['with a hash that is none', { [shard]: '[["app","web",5,"x"]]' }],
    ['with a hash for prunes', { [shard]: `[["prune","web",5,"${'d'.repeat(32)}"]]` }],
    ['with a row twice', { [shard]: `[${good},${good}]`, 'meta.json': metaWith({ rows: 2 }) }],
    [
      'with a row in another file',
      { [shard]: null, [shard === '00.json' ? '01.json' : '00.json']: `[${good}]` },
    ],
    [
      'with a file that is none of ours',
      { 'more.json': '[["app","more",5,null]]', 'meta.json': metaWith({ rows: 2 }) },
    ],
  ] as [string, Record<string, string | null>][])('%s is refused as a whole', (_, changes) => {
    const files = new Map(WEB_FILES);
    for (const [file, text] of Object.entries(changes)) {
      if (text === null) files.delete(file);
      else files.set(file, text);
    }
    expect(decodeSection(files)).toEqual(expect.any(String));
  });

  it('never throws, and never reads what it does not understand', () => {
    const file = fc.oneof(fc.constantFrom('meta.json', shard), fc.string());
    fc.assert(
      fc.property(fc.dictionary(file, fc.oneof(fc.json(), fc.string())), (files) => {
        expect(decodeSection(new Map(Object.entries(files)))).toEqual(expect.any(String));
      }),
    );
  });
});
