import { inLanes } from '../async/lanes.ts';
import { Pace } from '../async/pace.ts';
import type { DesiredState } from '../desired/state.ts';
import { decodeText, MAX_FILE_BYTES } from '../desired/yaml/document.ts';
import { HoldfastError, kindOf } from '../errors.ts';
import type { PassRunner } from '../reconcile/pass/pass.ts';
import { type Draft, drafting } from './draft.ts';
import { writeRefusal } from './preconditions.ts';
import { filesOf, type WriteView } from './view.ts';
import type { WriteRequest, WriterDependencies } from './write.ts';

/** How many writes are made ready at once, and files of one write read. */
const PORTION = 8;

/** The commit for a request, null if the files say it already; or the error that refuses it. */
export type DraftOutcome = { draft: Draft | null } | { error: unknown };

/** A request with all that has to be waited for before it is drafted. */
interface GatheredRequest extends WriteRequest {
  texts: Map<string, string>;
  /** What `If-Match` refuses it for, or why that is not known; else null. */
  refusal: unknown;
}

/**
 * Drafts one commit for each request, in their order: the first on the head, each other one on the draft before it.
 * Gives way to others on its way. Nothing is committed, and the desired state stays as it is; where a pass changes it
 * meanwhile, the drafts are void.
 */
export async function draftAll(
  requests: readonly WriteRequest[],
  dependencies: WriterDependencies,
): Promise<DraftOutcome[]> {
  const outcomes: DraftOutcome[] = [];
  const desired = dependencies.reconciler.passes.desired.trial();
  for (let start = 0; start < requests.length; start += PORTION) {
    const portion = requests.slice(start, start + PORTION);
    const gathered = await Promise.all(
      portion.map((request) => gather(request, dependencies).catch((error: unknown) => ({ error }))),
    );
    const pace = new Pace();
    for (const request of gathered) {
      const outcome = await draftOne(request, desired, pace, dependencies);
      outcomes.push(outcome);
      // The delete of an app, which alone can change many files, is never followed by another write.
      if ('draft' in outcome && outcomes.length < requests.length)
        desired.apply(outcome.draft?.changes ?? []);
    }
  }
  return outcomes;
}

async function gather(
  request: WriteRequest,
  { reconciler, reader, store }: WriterDependencies,
): Promise<GatheredRequest> {
  const { desired } = reconciler.passes;
  const texts = new Map<string, string>();
  await inLanes(PORTION, filesOf(request.write, desired), async (path) => {
    const blob = desired.file(path)?.blob;
    const found = blob === undefined ? { missing: true } : await reader.blob(blob, MAX_FILE_BYTES);
    if ('bytes' in found) texts.set(path, textOf(found.bytes));
  });
  const refusal = await writeRefusal(request, store).catch((error: unknown) => error);
  return { ...request, texts, refusal };
}

/**
 * The text to edit. Of a file that cannot be read as text, only comments can stay in an edit: most such files are in the
 * encoding that old editors on Windows write. One with NUL characters, which would be refused again, is as good as empty.
 */
function textOf(bytes: Uint8Array): string {
  const decoded = decodeText(bytes);
  if (decoded.ok) return decoded.value;
  const text = new TextDecoder('windows-1252').decode(bytes);
  return text.includes('\0') ? '' : text;
}

async function draftOne(
  gathered: GatheredRequest | { error: unknown },
  desired: DesiredState,
  pace: Pace,
  { reconciler, defaults, strict, now }: WriterDependencies,
): Promise<DraftOutcome> {
  if ('error' in gathered) return gathered;
  const { write, context, texts, refusal } = gathered;
  try {
    const view = { desired, ...storeSide(reconciler.passes), defaults, texts };
    const draft = await pace.pieces(drafting(write, context, view, { strict, at: now() }));
    return refusal === null ? { draft } : { error: refusal };
  } catch (error) {
    // Of several errors, what is wrong with the request comes first, then If-Match, then the repository.
    return { error: kindOf(error) === 'conflict' && refusal !== null ? refusal : error };
  }
}

function storeSide(passes: Pick<PassRunner, 'memory'>): Pick<WriteView, 'applied' | 'faulty'> {
  const memory = passes.memory();
  if (memory === null) throw new HoldfastError('unavailable', 'the store could not be read');
  return { applied: memory.applied, faulty: [...memory.problems.keys()] };
}
