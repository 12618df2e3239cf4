import { describe, expect, it } from 'vitest';
import {
  changesOf,
  type ListedChange,
  listedChangesOf,
  type ObjectChange,
} from '../../src/history/changes.ts';
import type { FileDelta, FileVersion } from '../../src/history/commit.ts';
import { DEFAULTS } from '../support/fleet.ts';

/** The texts before and after by path; null where there is no file. A text is its own blob. */
type Texts = Record<string, [before: string | null, after: string | null]>;

function version(text: string | null): FileVersion | null {
  return text === null ? null : { type: 'file', blob: text };
}

function deltasOf(texts: Texts): FileDelta[] {
  return Object.entries(texts).map(([path, [before, after]]) => ({
    path,
    before: version(before),
    after: version(after),
  }));
}

function read(texts: Texts) {
  const readBlob = async (blob: string) => ({ bytes: new TextEncoder().encode(blob) });
  return changesOf(deltasOf(texts), readBlob, DEFAULTS);
}

/** The parts of a change that a row states. */
type Row = Pick<ObjectChange, 'kind' | 'name' | 'change' | 'fields'> & {
  isInvalid?: true;
  moved?: [string, string];
};

function rowOf({ kind, name, change, fields, isInvalid, before, after }: ObjectChange): Row {
  const moved = before !== null && after !== null && before.path !== after.path;
  return {
    kind,
    name,
    change,
    fields,
    ...(isInvalid ? { isInvalid } : {}),
    ...(moved ? { moved: [before.path, after.path] } : {}),
  };
}

const V1 = 'container_image: web:1\n';
const V2 = 'container_image: web:2\n';
const WEB = { kind: 'app', name: 'web' } as const;

const rows: { name: string; texts: Texts; changes: Row[] }[] = [
  {
    name: 'a new file creates its object',
    texts: { 'apps/web.yaml': [null, V1] },
    changes: [{ ...WEB, change: 'create', fields: [] }],
  },
  {
    name: 'a changed file names the fields that differ',
    texts: { 'apps/web.yaml': [V1, `${V2}running: false\nenv_vars: {A: secret}\n`] },
    changes: [{ ...WEB, change: 'update', fields: ['container_image', 'env_vars', 'running'] }],
  },
  {
    name: 'a removed file deletes its object',
    texts: { 'device-groups/lab.yaml': ['apps: []\n', null] },
    changes: [{ kind: 'device_group', name: 'lab', change: 'delete', fields: [] }],
  },
  {
    name: 'comments, order and defaults change nothing',
    texts: { 'apps/web.yaml': [V1, `# now with a comment\nrunning: true\n${V1}`] },
    changes: [],
  },
  {
    name: 'a file that moved is one object, and its path changed',
    texts: { 'apps/old/web.yaml': [V1, null], 'apps/web.yaml': [null, V1] },
    changes: [{ ...WEB, change: 'update', fields: [], moved: ['apps/old/web.yaml', 'apps/web.yaml'] }],
  },
  {
    name: 'a file that moved and changed names the fields, too',
    texts: { 'apps/old/web.yml': [V1, null], 'apps/web.yaml': [null, V2] },
    changes: [
      { ...WEB, change: 'update', fields: ['container_image'], moved: ['apps/old/web.yml', 'apps/web.yaml'] },
    ],
  },
  {
    name: 'a file that becomes invalid says so',
    texts: { 'apps/web.yaml': [V1, 'container_image: [\n'] },
    changes: [{ ...WEB, change: 'update', fields: [], isInvalid: true }],
  },
  {
    name: 'a file that is fixed is an update whose fields are not known',
    texts: { 'apps/web.yaml': ['nonsense', V2] },
    changes: [{ ...WEB, change: 'update', fields: [] }],
  },
  {
    name: 'two files of one name are invalid',
    texts: { 'apps/a/web.yaml': [null, V1], 'apps/b/web.yaml': [null, V1] },
    changes: [{ ...WEB, change: 'create', fields: [], isInvalid: true }],
  },
  {
    name: 'files of no object are left out',
    texts: { 'README.md': [null, 'x'], 'apps/notes.txt': [null, 'x'], '.github/x.yaml': [null, 'x'] },
    changes: [],
  },
];

describe('changesOf', () => {
  it.each(rows)('$name', async ({ texts, changes }) => {
    expect((await read(texts)).map(({ change }) => rowOf(change))).toEqual(changes);
  });

  it('has steps with the contents before and after, but no value in the changes', async () => {
    const [found] = await read({ 'apps/web.yaml': [V1, `${V2}env_vars: {A: secret}\n`] });
    expect(found?.step).toMatchObject({
      before: { container_image: 'web:1', env_vars: {} },
      after: { container_image: 'web:2', env_vars: { A: 'secret' } },
    });
    expect(JSON.stringify(found && rowOf(found.change))).not.toContain('secret');
  });

  it('never follows a symbolic link', async () => {
    const link = { type: 'symlink', blob: 'x' } as const;
    const files = [{ path: 'apps/web.yaml', before: version(V1), after: link }];
    const readBlob = async (blob: string) => {
      if (blob === 'x') throw new Error('the link was read');
      return { bytes: new TextEncoder().encode(blob) };
    };
    const [found] = await changesOf(files, readBlob, DEFAULTS);
    expect(found?.change).toMatchObject({ change: 'update', isInvalid: true });
  });
});

describe('what a commit changed, without values', () => {
  it.each(rows)('is the same as with values: $name', async ({ texts }) => {
    const blob = async (id: string) => ({ bytes: new TextEncoder().encode(id) });
    const listed = await listedChangesOf(deltasOf(texts), blob, DEFAULTS, () => undefined);
    const withoutValidity = ({ isInvalid: _, ...change }: ObjectChange): ListedChange => change;
    const whole = (await read(texts)).map(({ change }) => change);
    expect(listed.map((each) => withoutValidity({ isInvalid: false, ...each }))).toEqual(
      whole.map(withoutValidity),
    );
  });

  it('reads no file that was only created or deleted, and no update whose fields are known', async () => {
    const deltas = deltasOf({
      'apps/db.yaml': [null, V1],
      'apps/old.yaml': [V1, null],
      'apps/web.yaml': [V1, V2],
      'device-groups/lab.yaml': ['apps: [web]\n', 'apps: []\n'],
    });
    const blobs: string[] = [];
    const blob = async (id: string) => {
      blobs.push(id);
      return { bytes: new TextEncoder().encode(id) };
    };
    const fields = (key: string, before: string, after: string) =>
      key === 'app/web' && before === V1 && after === V2 ? ['container_image'] : undefined;
    const changes = await listedChangesOf(deltas, blob, DEFAULTS, fields);
    expect(changes.map(({ name, change, fields: changed }) => [name, change, changed])).toEqual([
      ['db', 'create', []],
      ['old', 'delete', []],
      ['web', 'update', ['container_image']],
      ['lab', 'update', ['apps']],
    ]);
    expect(blobs).toEqual(['apps: [web]\n', 'apps: []\n']);
  });
});
