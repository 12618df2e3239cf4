import { describe, expect, it } from 'vitest';
import type { TestManager } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

/** Settings of a user's repository that change what git prints, or make a command of git fail. */
const SETTINGS: readonly (readonly [string, string])[] = [
  ['blame.ignoreRevsFile', 'missing-file'],
  ['blame.blankBoundary', 'true'],
  ['blame.coloring', 'highlightRecent'],
  ['blame.date', 'relative'],
  ['blame.markIgnoredLines', 'true'],
  ['blame.markUnblamableLines', 'true'],
  ['blame.showEmail', 'true'],
  ['blame.showRoot', 'true'],
  ['color.ui', 'always'],
  ['color.diff', 'always'],
  ['core.abbrev', '4'],
  ['core.pager', 'false'],
  ['core.quotePath', 'true'],
  ['diff.algorithm', 'patience'],
  ['diff.context', '0'],
  ['diff.external', 'false'],
  ['diff.ignoreSubmodules', 'all'],
  ['diff.mnemonicPrefix', 'true'],
  ['diff.noprefix', 'true'],
  ['diff.orderFile', 'missing-file'],
  ['diff.relative', 'true'],
  ['diff.renames', 'copies'],
  ['diff.submodule', 'log'],
  ['diff.wordRegex', '.'],
  ['format.pretty', 'oneline'],
  ['i18n.logOutputEncoding', 'UTF-16'],
  ['log.abbrevCommit', 'true'],
  ['log.date', 'relative'],
  ['log.decorate', 'full'],
  ['log.diffMerges', 'off'],
  ['log.follow', 'true'],
  ['log.mailmap', 'true'],
  ['log.showRoot', 'false'],
  ['log.showSignature', 'true'],
  ['mailmap.file', '../mailmap'],
  ['notes.displayRef', 'refs/notes/*'],
];

describe('what the manager says of the past', () => {
  let before: unknown;
  const suite = suiteManager(
    { files: { 'apps/web.yaml': 'container_image: web:1\n', 'apps/gruß.yaml': 'container_image: x:1\n' } },
    async (manager) => {
      const commit = (version: number) =>
        manager.repository.commit(
          { 'desired-state/apps/web.yaml': `# ü\ncontainer_image: web:${version}\nrunning: true\n` },
          `v${version}`,
        );
      await commit(2);
      await commit(3);
      await manager.reconcile();
      await manager.repository.git('branch', 'topic', 'HEAD^');
      before = await replies(manager);
    },
  );

  it.each(SETTINGS)('does not depend on the setting %s of the repository', async (name, value) => {
    const { repository } = suite();
    await repository.git('config', name, value);
    try {
      expect(await replies(suite())).toEqual(before);
    } finally {
      await repository.git('config', '--unset', name);
    }
  });
});

/** The bodies of the replies to requests that read git. */
async function replies(manager: TestManager): Promise<unknown[]> {
  const [last, first] = (await manager.repository.git('rev-parse', 'main', 'main~2')).split('\n');
  const found = [
    await manager.get(`/api/v2/history/${last}`),
    await manager.get(`/api/v2/history/${first}`),
    await manager.get(`/api/v2/diff?from=${first}&to=${last}`),
    await manager.get('/api/v2/blame/app/web'),
    await manager.get('/api/v2/plan?revision=topic'),
    await manager.post('/api/v2/rollback?dry_run=true', { undo: last, reason: 'because' }),
  ];
  expect(found.map(({ status }) => status)).toEqual(found.map(() => 200));
  return found.map(({ body }) => body);
}
