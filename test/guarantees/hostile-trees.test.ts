import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { type Plumbing, plumbingOf, type RawEntry } from '../support/plumbing.ts';
import { expectServesTheRest } from './hostile-world.ts';

const SECRET = 'the-bytes-behind-the-link';
const GOOD = 'container_image: good:1\n';

/** Puts entries into the folder `apps` of the fleet, by a tree that is made by hand. */
function craftApps(repository: TestRepository, make: (git: Plumbing) => RawEntry[]): void {
  const git = plumbingOf(repository);
  const replace = (entries: RawEntry[], name: string, id: string): RawEntry[] =>
    entries.map((entry) => (entry.name === name ? { ...entry, id } : entry));
  const apps = git.tree([...git.entriesOf('main:desired-state/apps'), ...make(git)]);
  const state = git.tree(replace(git.entriesOf('main:desired-state'), 'apps', apps));
  git.publish(git.tree(replace(git.entriesOf('main'), 'desired-state', state)));
}

const file = (git: Plumbing, name: string | Buffer, text = GOOD, mode = '100644'): RawEntry => ({
  mode,
  name,
  id: git.blob(text),
});

/** What stands in a commit, and the problems (file, line, code) that it has to give, beside a fleet that is good. */
interface Row {
  name: string;
  craft(git: Plumbing): RawEntry[];
  problems: string[];
  /** Names of apps that are served besides those of the fleet. */
  apps?: string[];
  refusesWrites?: true;
}

const folder = (git: Plumbing, name: string, entries: RawEntry[]): RawEntry => ({
  mode: '40000',
  name,
  id: git.tree(entries),
});

/** A file below so many folders. */
function deep(git: Plumbing, levels: number): RawEntry[] {
  let entries = [file(git, 'abyss.yaml')];
  for (let level = 0; level < levels; level++) entries = [folder(git, 'd', entries)];
  return entries;
}

const rows: readonly Row[] = [
  {
    name: 'an entry called .git',
    craft: (git) => [folder(git, '.git', [file(git, 'config', '[core]\n\tfsmonitor = touch /tmp/x\n')])],
    problems: ['apps/.git/config:1 file-unreadable'],
    refusesWrites: true,
  },
  {
    name: 'an entry called .GIT, which is .git on some disks',
    craft: (git) => [folder(git, '.GIT', [file(git, 'x.yaml')])],
    problems: ['apps/.GIT/x.yaml:1 file-unreadable'],
    refusesWrites: true,
  },
  {
    name: 'an entry called ..',
    craft: (git) => [folder(git, '..', [file(git, 'up.yaml')])],
    problems: ['apps/../up.yaml:1 file-unreadable'],
    refusesWrites: true,
  },
  {
    name: 'an entry called .',
    craft: (git) => [folder(git, '.', [file(git, 'here.yaml')])],
    problems: ['apps/./here.yaml:1 file-unreadable'],
    refusesWrites: true,
  },
  {
    name: 'the same name twice',
    craft: (git) => [file(git, 'twin.yaml'), file(git, 'twin.yaml', 'container_image: other\n')],
    problems: ['apps/twin.yaml:1 file-unreadable'],
  },
  {
    name: 'the same name as file and as folder',
    craft: (git) => [file(git, 'both.yaml'), folder(git, 'both.yaml', [file(git, 'both.yaml')])],
    problems: ['apps/both.yaml:1 name-duplicate', 'apps/both.yaml/both.yaml:1 name-duplicate'],
  },
  {
    name: 'a name with a line break',
    craft: (git) => [file(git, 'line\nbreak.yaml')],
    problems: ['apps/line\nbreak.yaml:1 name-invalid'],
  },
  {
    name: 'a name with quotes, a semicolon and a dollar',
    craft: (git) => [file(git, `"';$(touch x)\`.yaml`)],
    problems: [`apps/"';$(touch x)\`.yaml:1 name-invalid`],
  },
  {
    name: 'names that look like options',
    craft: (git) => [file(git, '--exec=touch x.yaml'), file(git, '-rf.yaml')],
    problems: ['apps/--exec=touch x.yaml:1 name-invalid', 'apps/-rf.yaml:1 name-invalid'],
  },
  {
    name: 'a name that is no UTF-8',
    craft: (git) => [file(git, Buffer.from([0x61, 0xff, 0xfe, ...Buffer.from('.yaml')]))],
    problems: ['apps/a\ufffd\ufffd.yaml:1 name-invalid'],
  },
  {
    name: 'two names that differ in their unicode form alone',
    craft: (git) => [file(git, 'caf\u00e9.yaml'), file(git, 'cafe\u0301.yaml')],
    problems: ['apps/cafe\u0301.yaml:1 name-invalid', 'apps/caf\u00e9.yaml:1 name-invalid'],
  },
  {
    name: 'two names that differ in case alone: two apps, as in the API',
    craft: (git) => [file(git, 'Shop.yaml'), file(git, 'shop.yaml')],
    problems: [],
    apps: ['Shop', 'shop'],
  },
  {
    name: 'two folders that differ in case alone, with one name in both',
    craft: (git) => [folder(git, 'Team', [file(git, 's.yaml')]), folder(git, 'team', [file(git, 's.yaml')])],
    problems: ['apps/Team/s.yaml:1 name-duplicate', 'apps/team/s.yaml:1 name-duplicate'],
  },
  {
    name: 'a very long name',
    craft: (git) => [file(git, `${'n'.repeat(4000)}.yaml`)],
    problems: [`apps/${'n'.repeat(4000)}.yaml:1 name-invalid`],
    refusesWrites: true,
  },
  {
    name: '1,000 folders in one another: a file like any other',
    craft: (git) => deep(git, 1000),
    problems: [],
    apps: ['abyss'],
  },
  {
    name: 'modes that git does not write',
    craft: (git) => [file(git, 'group.yaml', GOOD, '100664'), file(git, 'run.yaml', GOOD, '100755')],
    problems: [],
    apps: ['group', 'run'],
  },
  {
    name: 'a submodule, and one where a file should be',
    craft: () => [
      { mode: '160000', name: 'sub', id: '1'.repeat(40) },
      { mode: '160000', name: 'sub.yaml', id: '2'.repeat(40) },
    ],
    problems: ['apps/sub:1 file-submodule', 'apps/sub.yaml:1 file-submodule'],
  },
  {
    name: 'links: to a file outside, to a device, to itself, in a chain, and in the place of a folder',
    craft: (git) =>
      [
        ['out.yaml', '/etc/passwd'],
        ['dev.yaml', '/dev/zero'],
        ['self.yaml', 'self.yaml'],
        ['one.yaml', 'two.yaml'],
        ['two.yaml', '../../../../etc/passwd'],
        ['folder', '../../..'],
      ].map(([name = '', target = '']) => file(git, name, target, '120000')),
    problems: ['dev.yaml', 'folder', 'one.yaml', 'out.yaml', 'self.yaml', 'two.yaml'].map(
      (name) => `apps/${name}:1 file-symlink`,
    ),
  },
];

describe('a commit that was made by hand', () => {
  it.each(rows.map((row) => [row.name, row] as const))('%s', async (_name, row) => {
    const { craft, problems, apps = [], refusesWrites = false } = row;
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    craftApps(repository, craft);
    const { said } = await expectServesTheRest(manager, { problems, apps, refusesWrites });
    expect(said).not.toContain('root:');
  });
});

describe('a commit whose objects lie', () => {
  it.each<[string, (git: Plumbing) => RawEntry[]]>([
    ['a blob in the place of a folder', (git) => [{ mode: '40000', name: 'lie', id: git.blob(GOOD) }]],
    ['a folder that is not there', () => [{ mode: '40000', name: 'gone', id: '3'.repeat(40) }]],
  ])(
    '%s: the revision cannot be read; what was good is served, and the next commit mends it',
    async (_n, craft) => {
      const repository = await testRepository();
      const manager = await startManager({ repository, files: SMALL_FLEET });
      const good = await repository.git('rev-parse', 'main');
      craftApps(repository, craft);
      const { body } = await manager.reconcile();
      expect(body.error.message).toMatch(/\S/);
      expect(body.revision_applied).toBe(good);
      const again = await manager.restart();
      expect((await again.get('/api/v2/apps/web')).status).toBe(200);
      expect((await again.get('/api/v2/device_groups/edge/info')).status).toBe(200);
      expect((await again.put('/api/v2/apps/web/update', { privileged: true })).status).toBe(503);
      await repository.git('update-ref', 'refs/heads/main', good);
      await again.reconcile();
      expect((await again.put('/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
    },
  );

  it.each<[string, (git: Plumbing) => RawEntry[], string]>([
    [
      'a folder in the place of a file',
      (git) => [{ mode: '100644', name: 'l.yaml', id: git.tree([]) }],
      'l.yaml',
    ],
    ['a file that is not there', () => [{ mode: '100644', name: 'm.yaml', id: '4'.repeat(40) }], 'm.yaml'],
  ])('%s: a problem of that file alone', async (_name, craft, name) => {
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    craftApps(repository, craft);
    const problems = [`apps/${name}:1 file-unreadable`];
    const { body } = await manager.reconcile();
    expect(
      body.problems.map((p: Record<string, unknown>) => `${p['file']}:${p['line']} ${p['code']}`),
    ).toEqual(problems);
    expect((await manager.get('/api/v2/apps/web')).status).toBe(200);
    const again = await manager.restart();
    expect((await again.reconcile()).body.problems).toHaveLength(1);
    expect((await again.get('/api/v2/apps/web')).status).toBe(200);
  });
});

describe('a commit whose message has no end', () => {
  it('is not read; what was good is served, and the next commit mends it', async () => {
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    const good = await repository.git('rev-parse', 'main');
    const place = join(await temporaryFolder(), 'message');
    await writeFile(place, Buffer.alloc(70_000_000, 'so '));
    const huge = await repository.git('commit-tree', '-p', good, '-F', place, `${good}^{tree}`);
    await repository.git('update-ref', 'refs/heads/main', huge);
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({
      revision_applied: good,
      error: { message: expect.stringContaining('too large to read') },
    });
    expect((await manager.get('/api/v2/device_groups/edge/info')).status).toBe(200);
    await repository.git('update-ref', 'refs/heads/main', good);
    expect((await manager.reconcile()).body.error).toBeNull();
  });
});

describe('the folder itself', () => {
  it('as a link to another one: refused whole, and not a byte of the other one is seen', async () => {
    const outside = await temporaryFolder();
    await writeFiles(outside, { 'apps/spy.yaml': `container_image: ${SECRET}\n` });
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    const before = await manager.get('/api/v2/apps');
    await repository.git('rm', '-r', '--quiet', 'desired-state');
    await symlink(outside, join(repository.folder, 'desired-state'));
    await repository.commit({});
    const { body, text } = await manager.reconcile();
    expect(body.state).toBe('refused');
    expect((await manager.get('/api/v2/apps')).body).toEqual(before.body);
    expect(text + JSON.stringify(manager.log)).not.toContain(SECRET);
    expect((await manager.post('/api/v2/apps/fresh', { container_image: 'x' })).status).toBe(409);
  });
});
