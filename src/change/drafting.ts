import type { AppDefaults } from '../desired/app.ts';
import type { FileChange } from '../desired/state.ts';
import { MAX_FILE_BYTES, readOnce } from '../desired/yaml/document.ts';
import { HoldfastError, kindOf } from '../errors.ts';
import { ALLOW_EMPTY } from '../reconcile/guard.ts';
import type { PassRunner } from '../reconcile/pass.ts';
import type { Reader } from '../source/source.ts';
import { Pace } from '../store/pace.ts';
import type { Store } from '../store/store.ts';
import { type Draft, draftWrite } from './draft.ts';
import { filesOf, type WriteView } from './view.ts';
import type { Write, WriteContext } from './write.ts';

/** How many writes are drafted in one turn: about four milliseconds of work. */
const PORTION = 8;

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

/** A wish, and who has it. */
export interface Wish {
  write: Write;
  context: WriteContext;
}

/** The commit for a wish, null where the files say it already; or why there is none. */
export type Drafted = { draft: Draft | null } | { error: unknown };

/** What a draft needs that has to be waited for. */
interface Material extends Wish {
  texts: Map<string, string>;
  /** What `If-Match` refuses the write for; it is told after what is wrong with the request itself. */
  refusal: unknown;
}

/** Drafts one commit for each wish, in their order, on the head with the drafts before it. Gives way to others on its way. */
export async function draftAll(
  wishes: readonly Wish[],
  dependencies: DraftingDependencies,
): Promise<Drafted[]> {
  const pace = new Pace();
  const drafted: Drafted[] = [];
  const changes: FileChange[] = [];
  for (let start = 0; start < wishes.length; start += PORTION) {
    const portion = wishes.slice(start, start + PORTION);
    const materials = await Promise.allSettled(portion.map((wish) => gather(wish, dependencies)));
    await pace.step();
    dependencies.passes.desired.trial((keep) => {
      keep(changes);
      for (const material of materials) {
        const outcome = attempt(material, dependencies);
        const own = 'draft' in outcome ? (outcome.draft?.changes ?? []) : [];
        drafted.push(outcome);
        changes.push(...own);
        keep(own);
      }
    });
  }
  return drafted;
}

async function gather(wish: Wish, { passes, reader, store }: DraftingDependencies): Promise<Material> {
  const { write, context } = wish;
  const texts = new Map<string, string>();
  for (const path of filesOf(write, passes.desired)) {
    const blob = passes.desired.file(path)?.blob;
    const found = blob === undefined ? { missing: true } : await reader.blob(blob, MAX_FILE_BYTES);
    if ('bytes' in found) texts.set(path, new TextDecoder('utf-8', { ignoreBOM: true }).decode(found.bytes));
  }
  const refusal = await refusalOf(write, context, store).catch((error: unknown) => error);
  return { ...wish, texts, refusal };
}

function attempt(
  gathered: PromiseSettledResult<Material>,
  { passes, defaults, strict, now }: DraftingDependencies,
): Drafted {
  if (gathered.status === 'rejected') return { error: gathered.reason };
  const { write, context, texts, refusal } = gathered.value;
  const rules = { strict, allowEmpty: ALLOW_EMPTY, at: now() };
  try {
    const view = {
      desired: passes.desired,
      ...storeSide(passes),
      defaults,
      texts,
      read: readOnce(),
    };
    const draft = draftWrite(write, context, view, rules);
    return refusal === null ? { draft } : { error: refusal };
  } catch (error) {
    return { error: kindOf(error) === 'conflict' && refusal !== null ? refusal : error };
  }
}

function storeSide(passes: DraftingDependencies['passes']): Pick<WriteView, 'applied' | 'faulty'> {
  const memory = passes.memory();
  if (memory === null) throw new HoldfastError('unavailable', 'the store could not be read');
  return { applied: memory.applied, faulty: [...memory.problems.keys()] };
}

/**
 * What `If-Match` refuses a write for, null where it holds: told after what is wrong with the request itself (decisions,
 * "Everything else").
 */
export async function refusalOf(
  write: Write,
  { ifMatch }: WriteContext,
  store: Store,
): Promise<HoldfastError | null> {
  if (ifMatch === null) return null;
  const id =
    write.kind === 'app'
      ? (await store.app(write.name)).value?.appId
      : (await store.group(write.name)).value?.deviceGroupId;
  if (id !== undefined && ifMatch.includes(id)) return null;
  return new HoldfastError('moved-on', `If-Match does not hold: the id is ${id ?? 'not assigned'} now`);
}
