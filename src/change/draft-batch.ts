import { inPieces, Pace } from '../async/pace.ts';
import type { AppDefaults } from '../desired/app.ts';
import type { FileChange } from '../desired/state.ts';
import { decodeText, MAX_FILE_BYTES, readingYaml, readOnce } from '../desired/yaml/document.ts';
import { HoldfastError, kindOf } from '../errors.ts';
import { ALLOW_EMPTY } from '../reconcile/guard.ts';
import type { PassRunner } from '../reconcile/pass.ts';
import type { Reader } from '../source/source.ts';
import type { Store } from '../store/store.ts';
import { type Draft, draftWrite } from './draft.ts';
import { writeRefusal } from './if-match.ts';
import { filesOf, type WriteView } from './view.ts';
import type { WriteRequest } from './write.ts';

/** How many writes are drafted before others get their turn: about four milliseconds of work. */
const PORTION = 8;

/** Characters of a text that takes noteworthy time to read, some ten milliseconds. */
const LONG_TEXT = 8192;

/** What drafting works with. */
export interface DraftingDependencies {
  passes: Pick<PassRunner, 'desired' | 'memory'>;
  reader: Reader;
  store: Store;
  defaults: AppDefaults;
  strict: boolean;
  /** Unix milliseconds. */
  now(): number;
}

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
 * Nothing is committed, and the desired state is in the end what it was.
 */
export async function draftAll(
  requests: readonly WriteRequest[],
  dependencies: DraftingDependencies,
): Promise<DraftOutcome[]> {
  const pace = new Pace();
  const outcomes: DraftOutcome[] = [];
  const changes: FileChange[] = [];
  for (let start = 0; start < requests.length; start += PORTION) {
    const portion = requests.slice(start, start + PORTION);
    const gathered = await Promise.allSettled(portion.map((request) => gather(request, dependencies)));
    for (const part of partsOf(gathered)) {
      const read = await readLong(part);
      await pace.step();
      dependencies.passes.desired.trial((keep) => {
        keep(changes);
        for (const request of part) {
          const outcome = draftOne(request, read, dependencies);
          const own = 'draft' in outcome ? (outcome.draft?.changes ?? []) : [];
          outcomes.push(outcome);
          changes.push(...own);
          keep(own);
        }
      });
    }
  }
  return outcomes;
}

async function gather(
  request: WriteRequest,
  { passes, reader, store }: DraftingDependencies,
): Promise<GatheredRequest> {
  const texts = new Map<string, string>();
  for (const path of filesOf(request.write, passes.desired)) {
    const blob = passes.desired.file(path)?.blob;
    const found = blob === undefined ? { missing: true } : await reader.blob(blob, MAX_FILE_BYTES);
    if ('bytes' in found) texts.set(path, textOf(found.bytes));
  }
  const refusal = await writeRefusal(request, store).catch((error: unknown) => error);
  return { ...request, texts, refusal };
}

type Gathered = PromiseSettledResult<GatheredRequest>;

/** What is drafted without a break: one alone where texts are long, because a tree takes a hundred times the memory of its text. */
function partsOf(gathered: readonly Gathered[]): (readonly Gathered[])[] {
  const hasLong = gathered.some((one) => longTexts(one).length > 0);
  return hasLong ? gathered.map((one) => [one]) : [gathered];
}

function longTexts(gathered: Gathered): string[] {
  if (gathered.status === 'rejected') return [];
  return [...gathered.value.texts.values()].filter((text) => text.length > LONG_TEXT);
}

/** A reader that has read the long texts, and gave others their turn meanwhile: drafting cannot be interrupted. */
async function readLong(part: readonly Gathered[]): Promise<WriteView['read']> {
  const known = new Map<string, ReturnType<WriteView['read']>>();
  for (const text of part.flatMap(longTexts)) known.set(text, await inPieces(readingYaml(text)));
  return readOnce(known);
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

function draftOne(
  gathered: Gathered,
  read: WriteView['read'],
  { passes, defaults, strict, now }: DraftingDependencies,
): DraftOutcome {
  if (gathered.status === 'rejected') return { error: gathered.reason };
  const { write, context, texts, refusal } = gathered.value;
  const rules = { strict, allowEmpty: ALLOW_EMPTY, at: now() };
  try {
    const view = { desired: passes.desired, ...storeSide(passes), defaults, texts, read };
    const draft = draftWrite(write, context, view, rules);
    return refusal === null ? { draft } : { error: refusal };
  } catch (error) {
    // Of several errors, what is wrong with the request comes first, then If-Match, then the repository.
    return { error: kindOf(error) === 'conflict' && refusal !== null ? refusal : error };
  }
}

function storeSide(passes: DraftingDependencies['passes']): Pick<WriteView, 'applied' | 'faulty'> {
  const memory = passes.memory();
  if (memory === null) throw new HoldfastError('unavailable', 'the store could not be read');
  return { applied: memory.applied, faulty: [...memory.problems.keys()] };
}
