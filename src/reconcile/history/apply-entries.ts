import { Pace } from '../../async/pace.ts';
import type { KnownFields } from '../../history/changes.ts';
import { commitEntry } from '../../history/entry.ts';
import type { Effect } from '../../plan/effect.ts';
import type { EntryKind } from '../../protocol/history.ts';
import { keyOf } from '../../protocol/name.ts';
import type { Act } from '../../store/act.ts';
import { type Entry, type HistoryState, keys } from '../../store/entry.ts';
import type { HistoryDependencies } from './dependencies.ts';
import {
  actChanges,
  changeOfAct,
  entryChange,
  entryOfCommit,
  fieldsOfAct,
  type NewEntry,
  type ObjectChange,
  type ReadCommit,
  readCommit,
} from './entries.ts';
import { isIndexed, readRange, withKeys } from './range.ts';

/** An applied revision, as an act has it. */
export type Applied = NonNullable<Act['applied']>;

type MoveKind = Extract<Entry['kind'], 'rewrite' | 'switch'>;

/** The entries of an applied revision, and where the older history goes on if it is the first one. */
export interface ApplyEntries {
  entries: NewEntry[];
  fill: HistoryState['fill'];
}

/**
 * Resolves to the entries of an applied revision, oldest first: of each commit that came with it and of each that had waited
 * for it; and of the rewrite or switch by which the branch came there, which has the ids that no commit gave.
 */
export async function entriesOfApply(
  act: Act,
  applied: Applied,
  state: HistoryState,
  dependencies: HistoryDependencies,
): Promise<ApplyEntries> {
  const base = state.revision ?? applied.before;
  const unlisted = actChanges(act.changes);
  if (await isGone(applied.revision, dependencies)) {
    const subject = `apply ${shortId(applied.revision)}, whose commit is gone`;
    const entry = await moveEntry('switch', subject, act, applied, unlisted, dependencies);
    return { entries: [{ ...entry, effects: act.effects }], fill: state.fill };
  }
  if (base === null) return firstEntries(act, applied, unlisted, dependencies);
  const { commits, isBack } = await newCommits(base, applied.revision, fieldsOfAct(unlisted), dependencies);
  const fromCommits = commitEntries(act, applied, commits, unlisted, dependencies);
  const waited = await waitedEntries(act, applied, unlisted, dependencies);
  const leftover = [...unlisted].filter(([, { change }]) => change.change !== 'file');
  const needsOwn = isBack || (leftover.length > 0 && fromCommits.length === 0);
  const kind = isBack && !isOtherBranch(applied, state) ? 'rewrite' : 'switch';
  const subject = moveSubject(kind, applied, state, base);
  const own = needsOwn ? [await moveEntry(kind, subject, act, applied, unlisted, dependencies)] : [];
  if (!needsOwn) fromCommits.at(-1)?.changes.push(...leftover.map(([key, each]) => changeOfAct(key, each)));
  const entries = [...own, ...waited, ...fromCommits];
  shareEffects(entries, act.effects);
  return { entries, fill: state.fill };
}

/**
 * Whether the commit of an applied revision is not in the repository, and will not come: another one that was applied since is
 * there. The commit of the revision that was applied last can still come, from the origin that another manager read.
 */
async function isGone(revision: string, { reader, progress }: HistoryDependencies): Promise<boolean> {
  if ((await reader.resolve(revision)) === revision) return false;
  const newest = (await progress.state()).applied?.revision ?? revision;
  return newest !== revision && (await reader.resolve(newest)) === newest;
}

/** Gives what devices do to the newest entry that changed the app or, if none did, to those that changed the groups. */
function shareEffects(entries: readonly NewEntry[], effects: readonly Effect[]): void {
  const applied = entries.filter(({ state }) => state !== 'waiting');
  const newest = new Map(
    applied.flatMap((entry) => entry.changes.filter(isSeenByDevices).map(({ object }) => [object, entry])),
  );
  for (const { app, action, groups } of effects) {
    const ofApp = newest.get(keyOf('app', app));
    const shares = new Map<NewEntry | undefined, string[]>();
    for (const group of groups) {
      const entry = ofApp ?? newest.get(keyOf('device_group', group)) ?? entries.at(-1);
      const share = shares.get(entry) ?? [];
      share.push(group);
      shares.set(entry, share);
    }
    for (const [entry, share] of shares) entry?.effects.push({ app, action, groups: share });
  }
}

/** A moved file, or another comment in it, changes no field. */
function isSeenByDevices({ change, fields }: NewEntry['changes'][number]): boolean {
  return change !== 'update' || fields.length > 0;
}

function isOtherBranch({ branch }: Applied, state: HistoryState): boolean {
  return branch !== null && state.branch !== null && branch !== state.branch;
}

/**
 * Reads the commits that the history does not have yet, oldest first. `isBack`: the branch did not get there by new commits
 * alone, but by a rewrite or by going to a commit that is known.
 */
async function newCommits(
  base: string,
  revision: string,
  knownFields: KnownFields,
  dependencies: HistoryDependencies,
): Promise<{ commits: ReadCommit[]; isBack: boolean }> {
  if (base === revision) return { commits: [], isBack: false };
  const range = await readRange(dependencies.reader, base, revision);
  const commits: ReadCommit[] = [];
  for (const commit of range.commits) {
    // A refused commit that a later one brings along has its entry, which says `superseded` from now on.
    const kinds: EntryKind[] = commit.revision === revision ? ['commit'] : ['commit', 'refused'];
    if (!(await isIndexed(dependencies.store, commit, kinds)))
      commits.push(await readCommit(commit, dependencies, knownFields));
  }
  const newest = range.commits.at(-1);
  const isKnown =
    commits.length === 0 && newest !== undefined && (await isIndexed(dependencies.store, newest));
  return { commits, isBack: range.isRewritten || isKnown };
}

/** Returns the subject of an entry for how the branch came from `base` to where it is. */
function moveSubject(kind: MoveKind, applied: Applied, state: HistoryState, base: string): string {
  const [from, to] = [shortId(base), shortId(applied.revision)];
  const branch = nameOf(applied.branch);
  if (kind === 'rewrite') return `${branch ?? 'HEAD'}: rewrite from ${from} to ${to}`;
  if (isOtherBranch(applied, state))
    return `switch from ${nameOf(state.branch)} (${from}) to ${branch} (${to})`;
  if (base !== applied.revision) return `apply ${to}`;
  // The commits are the same, but they mean something else now: this manager reads files in another way.
  return `apply ${to} with other settings or another release`;
}

function nameOf(branch: string | null): string | null {
  return branch === null ? null : `branch ${branch.replace('refs/heads/', '')}`;
}

function shortId(revision: string): string {
  return revision.slice(0, 10);
}

/** The first revision of a store: its one commit, if that made everything that was applied; else it is a switch to it. */
async function firstEntries(
  act: Act,
  applied: Applied,
  unlisted: Map<string, ObjectChange>,
  dependencies: HistoryDependencies,
): Promise<ApplyEntries> {
  const { reader } = dependencies;
  const { revision } = applied;
  const { commits } = await reader.log({ from: revision, until: null, limit: 1, skipsFirst: false });
  const [commit] = commits;
  const read = commit === undefined ? null : await readCommit(commit, dependencies);
  const made = new Set(read?.changes.map(({ kind, name }) => keyOf(kind, name)));
  if (read !== null && [...unlisted.keys()].every((key) => made.has(key))) {
    const entries = commitEntries(act, applied, [read], unlisted, dependencies);
    for (const entry of entries) entry.effects = act.effects;
    return { entries, fill: { from: read.commit.revision, skipsFirst: true } };
  }
  const subject = `start at ${shortId(revision)}`;
  const entry = await moveEntry('switch', subject, act, applied, unlisted, dependencies);
  return { entries: [{ ...entry, effects: act.effects }], fill: { from: revision, skipsFirst: false } };
}

/** Returns the entries of commits; takes what they list out of `unlisted`. The last commit that touched an object has its ids. */
function commitEntries(
  act: Act,
  { revision }: Applied,
  commits: readonly ReadCommit[],
  unlisted: Map<string, ObjectChange>,
  { forge }: HistoryDependencies,
): NewEntry[] {
  const held = heldBack(commits, unlisted, new Set(act.held));
  const entries = [...commits].reverse().map((read): NewEntry => {
    const changes = read.changes.map((change) => {
      const key = keyOf(change.kind, change.name);
      const ids = unlisted.get(key)?.ids ?? {};
      unlisted.delete(key);
      return entryChange(change, ids);
    });
    const isWaiting = changes.some(({ object }) => held.has(object));
    return {
      ...entryOfCommit(read, forge),
      changes,
      appliedAt: act.at,
      state: isWaiting ? 'waiting' : 'applied',
      appliedWith: revision,
    };
  });
  return entries.reverse();
}

/** Returns the keys of objects that a problem kept from what the commits made of them. */
function heldBack(
  commits: readonly ReadCommit[],
  unlisted: ReadonlyMap<string, ObjectChange>,
  notApplied: ReadonlySet<string>,
): Set<string> {
  const first = new Map<string, string | null>();
  const last = new Map<string, string | null>();
  for (const { kind, name, before, after } of commits.flatMap(({ changes }) => changes)) {
    const key = keyOf(kind, name);
    if (!first.has(key)) first.set(key, before?.blob ?? null);
    last.set(key, after?.blob ?? null);
  }
  const isHeld = ([key, blob]: [string, string | null]): boolean =>
    !unlisted.has(key) && first.get(key) !== blob && notApplied.has(key);
  return new Set([...last].filter(isHeld).map(([key]) => key));
}

/** Returns entries of commits that had waited, and are applied now; takes their objects out of `unlisted`. */
async function waitedEntries(
  act: Act,
  { revision }: Applied,
  unlisted: Map<string, ObjectChange>,
  { store }: HistoryDependencies,
): Promise<NewEntry[]> {
  const waited = new Map<number, NewEntry>();
  const candidates = [...unlisted].filter(([, { change }]) => change.change !== 'file');
  if (candidates.length === 0 || !(await hasWaiting(store))) return [];
  const pace = new Pace();
  for (const [key, each] of candidates) {
    await pace.step();
    const { entries } = await store.entries(withKeys([keys.object(key)], ['commit']), null, 1);
    const [entry] = entries;
    if (entry?.state !== 'waiting') continue;
    unlisted.delete(key);
    const { n, changesTotal: _, effectsTotal: __, idSequence: ___, ...rest } = entry;
    const again: NewEntry = waited.get(n) ?? {
      ...rest,
      state: 'applied',
      appliedAt: act.at,
      appliedWith: revision,
      changes: [],
      effects: [],
    };
    again.changes.push(changeOfAct(key, each));
    waited.set(n, again);
  }
  return [...waited].sort(([a], [b]) => a - b).map(([, entry]) => entry);
}

async function hasWaiting(store: HistoryDependencies['store']): Promise<boolean> {
  const { total } = await store.entries(withKeys([keys.state('waiting')], ['commit']), null, 1);
  return total > 0;
}

/** Returns the entry of a branch that is at another commit; empties `unlisted`. */
async function moveEntry(
  kind: MoveKind,
  subject: string,
  act: Act,
  { revision }: Applied,
  unlisted: Map<string, ObjectChange>,
  { reader, forge }: HistoryDependencies,
): Promise<NewEntry> {
  const isThere = (await reader.resolve(revision)) === revision;
  const query = { from: revision, until: null, limit: 1, skipsFirst: false };
  const commit = isThere ? (await reader.log(query)).commits[0] : undefined;
  const about = commit === undefined ? null : commitEntry(commit, forge);
  const changes = [...unlisted]
    .filter(([, { change }]) => change.change !== 'file')
    .map(([key, each]) => changeOfAct(key, each));
  unlisted.clear();
  return {
    kind,
    at: act.at,
    appliedAt: act.at,
    state: 'applied',
    revision,
    appliedWith: revision,
    actor: about?.actor ?? { name: '', email: null, via: 'git' },
    authors: about?.authors ?? [],
    subject,
    pullRequest: null,
    requestId: null,
    reason: null,
    changes,
    effects: [],
  };
}
