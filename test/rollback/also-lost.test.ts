import { afterEach, describe, expect, it } from 'vitest';
import { loadEntries } from '../../src/desired/load.ts';
import { DesiredState } from '../../src/desired/state.ts';
import type { History } from '../../src/history/history.ts';
import { parseKey } from '../../src/protocol/name.ts';
import { alsoLost } from '../../src/rollback/also-lost.ts';
import { restore } from '../../src/rollback/restore.ts';
import type { Present, Rollback } from '../../src/rollback/rollback.ts';
import { openRevisions, type RevisionReader } from '../../src/source/git/read/revisions.ts';
import { DEFAULTS } from '../support/fleet.ts';
import { inDesiredState } from '../support/folder.ts';
import { testRepository, USER_ENVIRONMENT } from '../support/git.ts';

const OPTIONS = { withDependencies: false, allowDelete: false };

let open: RevisionReader | null = null;
afterEach(() => open?.close());

/** The present and the past of a repository with a commit for each set of files, and how many pages of the log were read. */
async function history(...changes: Readonly<Record<string, string | null>>[]): Promise<{
  commits: string[];
  present: Present;
  past: History;
  pages: () => number;
}> {
  const repository = await testRepository();
  const commits: string[] = [];
  for (const files of changes) commits.push(await repository.commit(inDesiredState<string | null>(files)));
  open = await openRevisions(`${repository.folder}/desired-state`, {
    env: USER_ENVIRONMENT,
    timeLimit: 30_000,
  });
  if (open === null) throw new Error('no repository');
  const reader = open;
  let read = 0;
  const log: History['log'] = (query) => {
    read += 1;
    return reader.log(query);
  };
  const past: History = { entriesAt: (revision) => reader.entriesAt(revision), blob: reader.blob, log };
  const entries = (await reader.entriesAt('HEAD')) ?? [];
  const desired = await loadEntries(new DesiredState(), entries, reader.blob, DEFAULTS);
  const present = { revision: commits.at(-1) ?? '', desired, defaults: DEFAULTS };
  return { commits, present, past, pages: () => read };
}

const restored = (to: string, objects: string[], present: Present, past: History): Promise<Rollback> =>
  restore({ ...OPTIONS, to, objects: objects.map(parseKey) }, present, past);

describe('what goes with a restore', () => {
  it('is cut when it is late, and says so', async () => {
    const { commits, present, past } = await history(
      { 'apps/web.yaml': 'container_image: web:1\n' },
      { 'apps/web.yaml': 'container_image: web:2\n' },
      { 'apps/web.yaml': 'container_image: web:2\nprivileged: true\n' },
    );
    const to = commits[0] ?? '';
    const way = await restored(to, ['app/web'], present, past);
    let asked = 0;
    const lost = await alsoLost({ to }, way, present, past, () => ++asked > 1);
    const changes = [{ object: 'app/web', field: 'privileged', by: commits[2], actor: 'Pat' }];
    expect(lost).toEqual({ changes, isComplete: false });
  });

  it('looks no further back than the change of the last field', async () => {
    const { commits, present, past } = await history(
      { 'apps/web.yaml': 'container_image: web:1\n' },
      { 'apps/web.yaml': 'container_image: web:2\n' },
      { 'apps/web.yaml': 'container_image: web:3\n' },
    );
    const to = commits[0] ?? '';
    let asked = 0;
    const way = await restored(to, ['app/web'], present, past);
    const lost = await alsoLost({ to }, way, present, past, () => ++asked > 1);
    expect(lost).toMatchObject({ changes: [{ by: commits[2] }], isComplete: true });
  });
});

describe('a restore', () => {
  it('does not read the history if nothing is in its way', async () => {
    const { commits, present, past, pages } = await history(
      { 'apps/web.yaml': 'container_image: web:1\n' },
      { 'apps/web.yaml': 'container_image: web:2\n' },
    );
    const { edits } = await restored(commits[0] ?? '', ['app/web'], present, past);
    expect([edits.length, pages()]).toEqual([1, 0]);
  });

  it('reads it once for all apps that are missing, and takes no move for a delete', async () => {
    const { commits, present, past, pages } = await history(
      {
        'apps/a.yaml': 'container_image: a\n',
        'apps/b.yaml': 'container_image: b\n',
        'device-groups/g.yaml': 'apps: [a, b]\n',
      },
      { 'device-groups/g.yaml': 'apps: []\n', 'apps/b.yaml': null },
      { 'apps/a.yaml': null, 'apps/x/a.yaml': 'container_image: a\n' },
      { 'apps/x/a.yaml': null },
    );
    const { needs } = await restored(commits[0] ?? '', ['device_group/g'], present, past);
    const why = (commit: string | undefined) => `g listed it, deleted in ${commit?.slice(0, 12)}`;
    expect(needs).toEqual([
      { object: 'app/a', why: why(commits[3]) },
      { object: 'app/b', why: why(commits[1]) },
    ]);
    expect(pages()).toBe(1);
  });
});
