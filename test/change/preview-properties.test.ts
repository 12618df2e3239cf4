import { applyPatch } from 'diff';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ChangeSet } from '../../src/change/write.ts';
import { stepRecord } from '../../src/plan/records.ts';
import type { FileDiff, Preview } from '../../src/protocol/plan.ts';
import { anySet } from '../support/change-sets.ts';
import { buildWriterEngine, CONTEXT, failure, type WriterEngine } from '../support/writer-engine.ts';

const FILES = {
  'apps/a.yaml': '# Ask Pat\ncontainer_image: "i:1"\n',
  'apps/x/b.yml': 'running: false # until May\ncontainer_image: i:2\n',
  'apps/c.yaml': 'container_image: [\n',
  'device-groups/g.yaml': 'apps: [a, b]\n',
  'device-groups/h.yaml': 'apps:\n  - b # the till\n  - c\n',
};

/** The text that the hunks make of the text before. */
function patched({ before, hunks }: FileDiff): string | false {
  const parsed = hunks.map((hunk) => ({
    oldStart: hunk.old_lines === 0 ? hunk.old_start + 1 : hunk.old_start,
    oldLines: hunk.old_lines,
    newStart: hunk.new_start,
    newLines: hunk.new_lines,
    lines: hunk.lines,
  }));
  const patch = { hunks: parsed, oldFileName: '', newFileName: '', oldHeader: '', newHeader: '' };
  return applyPatch(before ?? '', patch as Parameters<typeof applyPatch>[1]);
}

async function expectCommitted({ repository, passes }: WriterEngine, shown: Preview, revision: string) {
  const parent = `${revision}^`;
  expect(await repository.git('rev-parse', parent)).toBe(shown.base);
  expect(await repository.git('log', '-1', '--format=%s', revision)).toBe(shown.subject);
  const names = await repository.git('diff-tree', '-r', '--name-only', '--no-renames', parent, revision);
  expect(shown.files.map(({ path }) => path).sort()).toEqual(names.split('\n'));
  for (const file of shown.files) {
    const textAt = async (commit: string): Promise<string | null> =>
      repository.git('cat-file', '-e', `${commit}:${file.path}`).then(
        () => repository.show(file.path, commit),
        () => null,
      );
    expect([await textAt(parent), await textAt(revision)]).toEqual([file.before, file.after]);
    expect(patched(file)).toBe(file.after ?? '');
  }
  const outcome = passes
    .map((pass) => pass.outcome)
    .findLast((each) => each.ok && each.report.steps.length > 0);
  const steps = outcome?.ok && outcome.report.head.revision === revision ? outcome.report.steps : [];
  expect(steps.map(stepRecord)).toEqual(shown.steps);
}

async function expectPreviewed(engine: WriterEngine, set: ChangeSet): Promise<void> {
  const { writer, repository } = engine;
  const head = await repository.git('rev-parse', 'HEAD');
  const shown = await writer.preview(set, CONTEXT).catch((error: Error) => error);
  expect(await repository.git('rev-parse', 'HEAD')).toBe(head);
  if (shown instanceof Error) {
    expect((await failure(writer.commit(set, CONTEXT))).message).toBe(shown.message);
    return;
  }
  const { revision } = await writer.commit(set, { ...CONTEXT, base: shown.base as string });
  if (revision === null) expect([shown.subject, shown.files, shown.steps]).toEqual([null, [], []]);
  else await expectCommitted(engine, shown, revision);
}

it('random sets of changes are committed byte for byte as they were previewed, or refused alike', async () => {
  const engine = await buildWriterEngine({ files: FILES });
  await fc.assert(
    fc.asyncProperty(anySet, (set) => expectPreviewed(engine, set)),
    { numRuns: 60, endOnFailure: true },
  );
}, 120_000);
