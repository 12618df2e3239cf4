import { createHash, randomBytes } from 'node:crypto';
import { appDefaults } from '../../src/protocol/app.ts';
import type { Entry } from '../../src/store/entry.ts';
import { openSqliteStore } from '../../src/store/open/sqlite.ts';
import { flat } from '../support/flat-store.ts';
import { appName, groupName } from './fleet.ts';

export const TOTAL = 100_000;
export const APPS = 10_000;
export const GROUPS = 500;
/** Of the oldest entry, and between two entries, in Unix milliseconds. */
const START = 1_600_000_000_000;
const PAUSE = 600_000;

const PEOPLE = 20;
const FIELDS = ['container_image', 'env_vars', 'running', 'volumes', 'containers_per'];
/** What the places from 1 of each hundred are, if no commits. */
const KINDS: readonly (Entry['kind'] | undefined)[] = [undefined, 'restart', 'restart', 'restart', 'prune'];
/** Entries that are added at once. */
const AT_ONCE = 1000;

/** What the entry at this place of the history, 0 for the oldest one, is about. */
export const entryAt = {
  app: (place: number) => (place * 7919) % APPS,
  group: (place: number) => (place * 31) % GROUPS,
  person: (place: number) => `person-${(place * 13) % PEOPLE}`,
  field: (place: number) => FIELDS[Math.floor(place / 7) % FIELDS.length] ?? '',
  at: (place: number) => START + place * PAUSE,
  revision: (place: number) => createHash('sha1').update(String(place)).digest('hex'),
  request: (place: number) => `request-${place}`,
};

/** Adds old entries to the store of a manager that is stopped, by the store's own API. */
export async function addOldEntries(path: string): Promise<void> {
  const store = flat(await openSqliteStore({ path, defaults: appDefaults([]), random: randomBytes }));
  for (let added = 0; added < TOTAL; added += AT_ONCE) {
    const state = await store.historyState();
    if (state === null) throw new Error('the manager has indexed nothing');
    const places = Array.from({ length: AT_ONCE }, (_, index) => TOTAL - 1 - added - index);
    const entries = places.map((place, index) => oldEntry(state.oldest - 1 - index, place));
    const next = { ...state, fill: null, oldest: state.oldest - AT_ONCE, until: entries.at(-1)?.at ?? null };
    if (!(await store.addEntries({ expected: state, next, entries, supersedes: false })))
      throw new Error('somebody else writes the history');
  }
  await store.close();
}

/** Of a hundred entries, three are restarts, and one is a prune; places that are multiples of ten are commits by the API. */
function oldEntry(n: number, place: number): Entry {
  const kind = KINDS[place % 100] ?? 'commit';
  const name = entryAt.person(place);
  const at = entryAt.at(place);
  const isApi = kind !== 'commit' || place % 10 === 0;
  const group = groupName(entryAt.group(place));
  const app = appName(entryAt.app(place));
  const revision = kind === 'commit' ? entryAt.revision(place) : null;
  const request = isApi ? entryAt.request(place) : null;
  return {
    n,
    kind,
    at,
    appliedAt: at,
    idSequence: place,
    state: 'applied',
    revision,
    appliedWith: revision,
    actor: { name, email: `${name}@example.com`, via: isApi ? 'api' : 'git' },
    authors: [name],
    subject: `Roll out 2.${place} of ${app} to the shops`,
    pullRequest: null,
    requestId: request,
    reason: null,
    changes: changesAt(kind, place),
    effects: [{ app, action: 'restart', groups: [group] }],
  };
}

/** What the entry changed: an app, or a group, or with one commit of ten both. */
function changesAt(kind: Entry['kind'], place: number): Entry['changes'] {
  const ofApp = (fields: string[]) =>
    changeOf(`app/${appName(entryAt.app(place))}`, fields, { app_id: place });
  const ofGroup = (fields: string[]) =>
    changeOf(`device_group/${groupName(entryAt.group(place))}`, fields, { prune_id: place });
  if (kind === 'prune') return [ofGroup([])];
  if (kind === 'restart') return [ofApp([])];
  return [ofApp([entryAt.field(place)]), ...(place % 10 === 9 ? [ofGroup(['apps'])] : [])];
}

function changeOf(object: string, fields: string[], ids: Record<string, number>): Entry['changes'][number] {
  return { object, change: 'update', fields, ids, path: `${object}.yaml`, moved_from: null };
}
