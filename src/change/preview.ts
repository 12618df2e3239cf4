import { posix } from 'node:path';
import { HoldfastError } from '../errors.ts';
import { effectsOf } from '../plan/effect.ts';
import { fileDiff } from '../plan/hunks.ts';
import { effectRecord, stepRecord } from '../plan/records.ts';
import type { Preview } from '../protocol/plan.ts';
import type { Draft } from './draft.ts';
import { draftOn } from './draft-batch.ts';
import { requestRefusal, settle } from './settle.ts';
import { MAX_ATTEMPTS, type WriteRequest, type WriterDependencies } from './write.ts';

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

function describe(
  base: string | null,
  draft: Draft | null,
  { reconciler, folder }: WriterDependencies,
): Preview {
  if (draft === null) return { base, subject: null, files: [], steps: [], effects: [], problems: [] };
  const { subject, files, steps, problems } = draft;
  const applied = reconciler.passes.memory()?.applied;
  return {
    base,
    subject,
    files: files.map(({ path, before, after }) => fileDiff(posix.join(folder, path), before, after)),
    steps: steps.map(stepRecord),
    effects: applied === undefined ? [] : effectsOf(steps, applied).map(effectRecord),
    problems,
  };
}
