import { type Content, membersOf } from '../desired/content.ts';
import type { DesiredObject } from '../desired/state.ts';
import { editYaml } from '../desired/yaml/edit.ts';
import type { ObjectChange, ReadChange } from '../history/changes.ts';
import type { History } from '../history/history.ts';
import type { Step } from '../plan/step.ts';
import { type Fields, sameValue } from '../protocol/values.ts';
import { type Leaf, leavesBetween, valueAt, withValue } from './leaves.ts';
import type { Present } from './rollback.ts';
import { fieldsIn, textOf } from './texts.ts';

/** What is left to take back in one object. */
export type Outcome =
  /** Nothing: it was taken back already. */
  | { done: true }
  /** The file gets this text; null removes it. */
  | { path: string; text: string | null }
  /** Others have changed these leaves since; null stands for the whole object. */
  | { conflicts: (Leaf | null)[] };

const DONE: Outcome = { done: true };
const CONFLICT: Outcome = { conflicts: [null] };

/** Resolves to what is left to take back of a commit's change of one object. */
export async function undoObject(
  { change, step }: ReadChange,
  { desired }: Present,
  past: History,
): Promise<Outcome> {
  // A file that only moved: its object stays where it is.
  if (change.before !== null && change.before.blob === change.after?.blob) return DONE;
  // Of several files of one name, none is known to be the one to change.
  if (desired.pathsOf(change.kind, change.name).length > 1) return CONFLICT;
  const now = desired.object(change.kind, change.name);
  const quick = now === undefined ? undoOfAbsent(change) : undoOfBytes(change, now);
  if (quick !== null) return 'blob' in quick ? bytesOf(quick, past) : quick;
  if (step === null || now?.content === undefined) return CONFLICT;
  const present = { ...now, content: now.content };
  const { before, after }: { before: Content | null; after: Content | null } = step;
  if (before !== null && after !== null)
    return undoFields(before, after, present, { former: change.before?.blob ?? null, past });
  return undoWhole(step, present);
}

/** A file that gets the bytes of a blob. */
interface FormerFile {
  path: string;
  blob: string;
}

function undoOfAbsent({ before, after }: ObjectChange): Outcome | FormerFile {
  if (before === null) return DONE;
  return after === null ? before : CONFLICT;
}

/** Null if the file is neither as the commit found it, nor as it left it. */
function undoOfBytes({ before, after }: ObjectChange, now: DesiredObject): Outcome | FormerFile | null {
  if (now.blob === before?.blob) return DONE;
  if (now.blob !== after?.blob) return null;
  return before === null ? { path: now.path, text: null } : { path: now.path, blob: before.blob };
}

/** Takes back that an object came or went, and that others have changed it since. */
function undoWhole({ before, after }: Step, now: { path: string; content: Content }): Outcome {
  if (after === null) return sameValue(now.content, before) ? DONE : CONFLICT;
  const conflicts = leavesBetween(after, now.content);
  return conflicts.length > 0 ? { conflicts } : { path: now.path, text: null };
}

async function bytesOf({ path, blob }: FormerFile, past: History): Promise<Outcome> {
  const text = await textOf(past, blob);
  return text === null ? CONFLICT : { path, text };
}

/** Takes fields back in the text of the file, which keeps everything else. */
async function undoFields(
  before: Content,
  after: Content,
  now: { path: string; blob: string; content: Content },
  { former, past }: { former: string | null; past: History },
): Promise<Outcome> {
  const text = await textOf(past, now.blob);
  const formerText = former === null ? null : await textOf(past, former);
  if (text === null || formerText === null) return CONFLICT;
  const target = fieldsBack({ before, after, now: now.content }, fieldsIn(text), fieldsIn(formerText));
  if ('conflicts' in target) return target;
  const edited = editYaml(text, target.fields);
  return edited === text ? DONE : { path: now.path, text: edited };
}

/** Returns the fields of a file (`present`) with the values that it had (`former`), without those of the commit. */
function fieldsBack(
  { before, after, now }: Readonly<Record<'before' | 'after' | 'now', Content>>,
  present: Fields,
  former: Fields,
): { fields: Fields } | { conflicts: Leaf[] } {
  let fields = present;
  const conflicts: Leaf[] = [];
  for (const leaf of leavesBetween(before, after)) {
    const is = valueAt(now, leaf);
    if (sameValue(is, valueAt(before, leaf))) continue;
    if (leaf[0] === 'apps') fields = { ...fields, apps: membersBack(before, after, now) };
    else if (sameValue(is, valueAt(after, leaf))) fields = withValue(fields, leaf, valueAt(former, leaf));
    else conflicts.push(leaf);
  }
  return conflicts.length > 0 ? { conflicts } : { fields };
}

/** Takes the list of a group's apps back app by app: the order is that of `before` if nobody has changed the list since. */
function membersBack(before: Content, after: Content, now: Content): readonly string[] {
  const [was, made, is] = [membersOf(before), membersOf(after), membersOf(now)];
  if (sameValue(is, made)) return was;
  const removed = was.filter((app) => !made.includes(app) && !is.includes(app));
  return [...is.filter((app) => was.includes(app) || !made.includes(app)), ...removed];
}
