import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { type Plumbing, plumbingOf, type RawEntry } from '../support/plumbing.ts';
import { expectServesTheRest } from './bad-commit.ts';

const SECRET = 'the-bytes-behind-the-link';
const GOOD = 'container_image: good:1\n';

/** Commits more entries in the folder `apps` of the fleet, also entries that git would refuse. */
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

interface Row {
  name: string;
  /** The entries that a commit adds to the folder `apps` of `SMALL_FLEET`. */
  craft(git: Plumbing): RawEntry[];
  /** The problems that it must have: `file:line code`. */
  problems: string[];
  /** Names of the apps that it adds. */
  apps?: string[];
  /** Whether no work tree can hold it, so that writes are refused. */
  refusesWrites?: true;
}

const folder = (git: Plumbing, name: string, entries: RawEntry[]): RawEntry => ({
  mode: '40000',
  name,
  id: git.tree(entries),
});

/** A file in this many nested folders. */
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
    name: 'an entry called .GIT, which is .git on a file system that ignores case',
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
    name: 'a file and a folder of the same name',
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
    name: 'a name that is not UTF-8',
    craft: (git) => [file(git, Buffer.from([0x61, 0xff, 0xfe, ...Buffer.from('.yaml')]))],
    problems: ['apps/a\ufffd\ufffd.yaml:1 name-invalid'],
  },
  {
    name: 'two names that differ only in their Unicode normalization',
    craft: (git) => [file(git, 'caf\u00e9.yaml'), file(git, 'cafe\u0301.yaml')],
    problems: ['apps/cafe\u0301.yaml:1 name-invalid', 'apps/caf\u00e9.yaml:1 name-invalid'],
  },
  {
    name: 'two names that differ only in case, which are two apps',
    craft: (git) => [file(git, 'Shop.yaml'), file(git, 'shop.yaml')],
    problems: [],
    apps: ['Shop', 'shop'],
  },
  {
    name: 'two folders that differ only in case, with a file of the same name',
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
    name: 'a valid file in 1,000 nested folders',
    craft: (git) => deep(git, 1000),
    problems: [],
    apps: ['abyss'],
  },
  {
    name: 'files with the modes 100664 and 100755',
    craft: (git) => [file(git, 'group.yaml', GOOD, '100664'), file(git, 'run.yaml', GOOD, '100755')],
    problems: [],
    apps: ['group', 'run'],
  },
  {
    name: 'a submodule, and one with the name of a file',
    craft: () => [
      { mode: '160000', name: 'sub', id: '1'.repeat(40) },
      { mode: '160000', name: 'sub.yaml', id: '2'.repeat(40) },
    ],
    problems: ['apps/sub:1 file-submodule', 'apps/sub.yaml:1 file-submodule'],
  },
  {
    name: 'symbolic links to a file outside, to a device, to itself, to another link and to a folder',
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

describe('a commit with unusual or invalid entries', () => {
  const others = rows.filter((row) => !row.refusesWrites);
  const fileOf = (problem: string): string => problem.slice(0, problem.lastIndexOf(':'));
  const together: Row = {
    name: 'all others at once',
    craft: (git) => others.flatMap(({ craft }) => craft(git)),
    // In the order in which a manager lists them.
    problems: others.flatMap(({ problems }) => problems).sort((a, b) => (fileOf(a) < fileOf(b) ? -1 : 1)),
    apps: others.flatMap(({ apps = [] }) => apps),
  };

  it.each([...rows.filter((row) => row.refusesWrites), together].map((row) => [row.name, row] as const))(
    '%s: harms nothing but itself',
    async (_name, { craft, problems, apps = [], refusesWrites = false }) => {
      const repository = await testRepository();
      const manager = await startManager({ repository, files: SMALL_FLEET });
      craftApps(repository, craft);
      const { output } = await expectServesTheRest(manager, { problems, apps, refusesWrites });
      // No byte of /etc/passwd, to which a link leads.
      expect(output).not.toContain('root:');
    },
  );
});

describe('a commit whose trees name wrong or missing objects', () => {
  it.each<[string, (git: Plumbing) => RawEntry[]]>([
    ['a folder that is a blob', (git) => [{ mode: '40000', name: 'lie', id: git.blob(GOOD) }]],
    ['a folder that is missing', () => [{ mode: '40000', name: 'gone', id: '3'.repeat(40) }]],
  ])(
    '%s: is not applied, and the last good state is served until the branch moves back',
    async (_name, craft) => {
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
    ['a file that is a folder', (git) => [{ mode: '100644', name: 'l.yaml', id: git.tree([]) }], 'l.yaml'],
    ['a file that is missing', () => [{ mode: '100644', name: 'm.yaml', id: '4'.repeat(40) }], 'm.yaml'],
  ])('%s: is applied with a problem of that file alone', async (_name, craft, name) => {
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

describe('a commit with a message of 70 MB', () => {
  it('is applied, and listed with the start of its message', async () => {
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    const good = await repository.git('rev-parse', 'main');
    const message = join(await temporaryFolder(), 'message');
    await writeFile(message, Buffer.alloc(70_000_000, 'so '));
    const next = await repository.commit({ 'desired-state/apps/web.yaml': 'container_image: web:2\n' });
    const huge = await repository.git('commit-tree', '-p', good, '-F', message, `${next}^{tree}`);
    await repository.git('update-ref', 'refs/heads/main', huge);
    expect((await manager.reconcile()).body).toMatchObject({ revision_applied: huge, error: null });
    expect((await manager.get('/api/v2/device_groups/edge/info')).status).toBe(200);
    const history = async () => (await manager.get('/api/v2/history')).body;
    await expect.poll(history).toMatchObject({ complete: true });
    const { entries } = await history();
    expect(entries).toContainEqual(
      expect.objectContaining({ revision: huge, subject: expect.stringMatching(/^so so .{1,1000}$/) }),
    );
  });
});

describe('a desired state that is a symbolic link to a folder outside', () => {
  it('is refused, and no byte of that folder is in a reply or log', async () => {
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
