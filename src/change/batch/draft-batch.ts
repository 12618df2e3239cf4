import { forEachConcurrently } from '../../async/concurrency.ts';
import { Pace } from '../../async/pace.ts';
import type { DesiredState } from '../../desired/state.ts';
import { MAX_FILE_BYTES } from '../../desired/yaml/document.ts';
import { HoldfastError, kindOf } from '../../errors.ts';
import type { PassRunner } from '../../reconcile/pass/pass.ts';
import type { Head } from '../../source/source.ts';
import { type Draft, draftSet } from '../draft/draft.ts';
import { filesOf, type WriteView } from '../draft/view.ts';
import { ifMatchError } from '../preconditions.ts';
import { keysOf, type WriteRequest, type WriterDependencies } from '../write.ts';
import { type BoundBase, baseError, boundBase } from './base.ts';
import { editableText } from './object-file.ts';

/** How many writes are gathered at once, and how many files of one write are read at once. */
const PORTION = 8;

/** The draft for a request, null if the files already have its content; or the error that refuses the request. */
export type DraftOutcome = { draft: Draft | null } | { error: unknown };

/** A request with everything that is read from git and the store before it is drafted. */
interface GatheredRequest extends WriteRequest {
  texts: Map<string, string>;
  /** The error of a condition that does not hold or cannot be checked; else null. */
  refusal: unknown;
  base: BoundBase | null;
}

/**
 * Drafts the writes on this head. Resolves to null if a pass read another head meanwhile, even if a later pass read
 * this one again: then the drafts are void.
 */
export async function draftOn(
  { revision }: Head,
  batch: readonly WriteRequest[],
  dependencies: WriterDependencies,
): Promise<DraftOutcome[] | null> {
  const { passes } = dependencies.reconciler;
  const reading = passes.reading();
  const outcomes = await draftAll(batch, dependencies);
  return reading?.revision === revision && passes.reading() === reading ? outcomes : null;
}

/**
 * Drafts one commit for each request, in order: the first on the head, each later one on top of the draft before it.
 * Lets other work run in between. Commits nothing and leaves the desired state unchanged; if a pass changes that
 * meanwhile, the drafts are void.
 */
async function draftAll(
  requests: readonly WriteRequest[],
  dependencies: WriterDependencies,
): Promise<DraftOutcome[]> {
  const outcomes: DraftOutcome[] = [];
  const desired = dependencies.reconciler.passes.desired.over();
  for (let start = 0; start < requests.length; start += PORTION) {
    const portion = requests.slice(start, start + PORTION);
    const gathered = await Promise.all(
      portion.map((request) => gather(request, dependencies).catch((error: unknown) => ({ error }))),
    );
    const pace = new Pace();
    for (const request of gathered) {
      const outcome = await draftOne(request, desired, pace, dependencies);
      outcomes.push(outcome);
      // Not for the last set, on which nothing is drafted; so never for the delete of an app, which is alone in its batch
      // and can change many files.
      if ('draft' in outcome && outcomes.length < requests.length)
        desired.apply(outcome.draft?.changes ?? []);
    }
  }
  return outcomes;
}

async function gather(request: WriteRequest, dependencies: WriterDependencies): Promise<GatheredRequest> {
  const { reconciler, reader, store } = dependencies;
  const { context, set } = request;
  const { desired } = reconciler.passes;
  const base = context.base === undefined ? null : await boundBase(context.base, dependencies);
  const texts = new Map<string, string>();
  await forEachConcurrently(PORTION, filesOf(set, desired), async (path) => {
    const blob = desired.file(path)?.blob;
    const found = blob === undefined ? { missing: true } : await reader.blob(blob, MAX_FILE_BYTES);
    if ('bytes' in found) texts.set(path, editableText(found.bytes));
  });
  const refusal =
    (await ifMatchError(request, store).catch((error: unknown) => error)) ?? baseError(base, keysOf(set));
  return { ...request, texts, refusal, base };
}

async function draftOne(
  gathered: GatheredRequest | { error: unknown },
  desired: DesiredState,
  pace: Pace,
  { reconciler, defaults, strict, now }: WriterDependencies,
): Promise<DraftOutcome> {
  if ('error' in gathered) return gathered;
  const { set, context, texts, base, warns = false } = gathered;
  let { refusal } = gathered;
  try {
    const view = { desired, ...appliedSide(reconciler.passes), defaults, texts };
    const draft = await draftSet(set, context, view, { strict, at: now(), warns }, pace);
    refusal ??= baseError(base, draft?.touched ?? []);
    return refusal === null ? { draft } : { error: refusal };
  } catch (error) {
    // Errors of the request are reported first, then If-Match, then conflicts in the repository.
    return { error: kindOf(error) === 'conflict' && refusal !== null ? refusal : error };
  }
}

function appliedSide(passes: Pick<PassRunner, 'memory'>): Pick<WriteView, 'applied' | 'faulty'> {
  const memory = passes.memory();
  if (memory === null) throw new HoldfastError('unavailable', 'the store could not be read');
  return { applied: memory.applied, faulty: [...memory.problems.keys()] };
}
