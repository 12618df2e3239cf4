import { posix } from 'node:path';
import { forEachYielding } from '../../async/pace.ts';
import { HoldfastError } from '../../errors.ts';
import { effectsOf } from '../../plan/effect.ts';
import { fileDiff } from '../../plan/hunks.ts';
import { effectRecord, stepRecord } from '../../plan/records.ts';
import type { FileDiff, Preview } from '../../protocol/plan.ts';
import type { Draft } from '../draft/draft.ts';
import { MAX_ATTEMPTS, type WriteRequest, type WriterDependencies } from '../write.ts';
import { draftOn } from './draft-batch.ts';
import { requestRefusal, settle } from './settle.ts';

/** Drafts a set on the head as a write would, and resolves to what it would do. Rejects as `Writer.preview` does. */
export async function previewOf(request: WriteRequest, dependencies: WriterDependencies): Promise<Preview> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const base = await settle(dependencies).catch(async (error: unknown) => {
      throw (await requestRefusal(request, dependencies)) ?? error;
    });
    const [outcome] = (await draftOn(base.head, [request], dependencies)) ?? [];
    // A pass has read another head meanwhile.
    if (outcome === undefined) continue;
    if ('error' in outcome) throw outcome.error;
    return describe(base.head.revision, outcome.draft, dependencies);
  }
  throw new HoldfastError('conflict', 'the branch keeps moving; try again');
}

async function describe(
  base: string | null,
  draft: Draft | null,
  { reconciler, folder }: WriterDependencies,
): Promise<Preview> {
  if (draft === null) return { base, subject: null, files: [], steps: [], effects: [], problems: [] };
  const { subject, files, steps, problems } = draft;
  const applied = reconciler.passes.memory()?.applied;
  const effects = applied === undefined ? [] : effectsOf(steps, applied).map(effectRecord);
  const diffs: FileDiff[] = [];
  await forEachYielding(files, ({ path, before, after }) =>
    diffs.push(fileDiff(posix.join(folder, path), before, after)),
  );
  return {
    base,
    subject,
    files: diffs,
    steps: steps.map(stepRecord),
    effects,
    problems,
  };
}
