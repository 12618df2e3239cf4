import type { Incident } from '../store/incidents/incident.ts';
import { type IncidentStore, MOST_ENDED } from '../store/incidents/port.ts';
import type { Conditions } from './conditions.ts';

/** What is wrong, and what was: beginnings and ends of conditions. */
export interface Incidents {
  /** Looks at what is wrong now. Rejects if the store cannot be read or written; what is not kept then is kept later. */
  look(): Promise<void>;
  /** The open incidents, the newest first. */
  open(): readonly Incident[];
  /** The open ones, then those that have ended, the newest of each first. */
  all(): readonly Incident[];
}

/** What incidents depend on. */
export interface IncidentDependencies {
  store: IncidentStore;
  /** Resolves to what is wrong now. */
  conditions(): Promise<Conditions>;
  /** Called at each beginning and end. */
  onChange(incident: Incident): void;
  /** Returns a new id: 12 random hex digits. */
  newId(): string;
  /** Unix milliseconds. */
  now(): number;
}

/** Beginnings, ends and new texts between two looks. */
interface IncidentChanges {
  begun: Incident[];
  ended: Incident[];
  /** Those that last, with another text. */
  changed: Incident[];
}

/** Compares what was wrong with what is wrong now. */
function changesOf(
  open: ReadonlyMap<string, Incident>,
  { found, unknown }: Conditions,
  now: number,
  newId: () => string,
): IncidentChanges {
  const lasting = new Set(found.map(({ key }) => key));
  const begun: Incident[] = [];
  const changed: Incident[] = [];
  for (const { since, ...rest } of found) {
    const known = open.get(rest.key);
    if (known === undefined)
      begun.push({ id: newId(), ...rest, since: since ?? now, toldAt: null, until: null });
    else if (known.text !== rest.text || known.groups.join() !== rest.groups.join())
      changed.push({ ...known, ...rest });
  }
  const ended = [...open.values()]
    .filter(({ key, kind }) => !lasting.has(key) && !unknown.includes(kind))
    .map((each) => ({ ...each, until: now }));
  return { begun, ended, changed };
}

export function createIncidents({
  store,
  conditions,
  onChange,
  newId,
  now,
}: IncidentDependencies): Incidents {
  const open = new Map<string, Incident>();
  let ended: Incident[] = [];
  /** What the store does not have yet. */
  const unkept = new Map<string, Incident>();
  let isLoaded = false;

  const load = async (): Promise<void> => {
    const kept = await store.load();
    // While the store could not be read, conditions may have begun here: the store knows some of them longer.
    for (const incident of kept.filter(({ until }) => until === null)) open.set(incident.key, incident);
    ended = [
      ...ended,
      ...kept.filter(({ id, until }) => until !== null && ended.every((each) => each.id !== id)),
    ];
    for (const incident of unkept.values())
      if (open.get(incident.key)?.id !== incident.id) unkept.delete(incident.id);
    isLoaded = true;
  };
  const follow = async (): Promise<void> => {
    open.clear();
    ended = [];
    unkept.clear();
    await load();
  };
  const apply = ({ begun, ended: ends, changed }: IncidentChanges): void => {
    for (const incident of [...begun, ...changed]) open.set(incident.key, incident);
    for (const { key } of ends) open.delete(key);
    ended = [...ends, ...ended].sort((a, b) => (b.until ?? 0) - (a.until ?? 0)).slice(0, MOST_ENDED);
    for (const incident of [...begun, ...ends, ...changed]) unkept.set(incident.id, incident);
    for (const incident of [...begun, ...ends]) onChange(incident);
  };
  const keep = async (): Promise<void> => {
    const list = [...unkept.values()];
    if (list.length === 0) return;
    await store.put(list);
    for (const incident of list) if (unkept.get(incident.id) === incident) unkept.delete(incident.id);
  };
  const leads = (): Promise<boolean> => store.leads(now()).catch(() => true);

  return {
    look: async () => {
      // Without a store each manager sees for itself what is wrong: for one thing, that.
      if (!(await leads())) return follow();
      const loading = isLoaded ? null : await load().catch((error: unknown) => ({ error }));
      apply(changesOf(open, await conditions(), now(), newId));
      if (loading != null) throw loading.error;
      await keep();
    },
    open: () => [...open.values()].sort((a, b) => b.since - a.since),
    all: () => [...[...open.values()].sort((a, b) => b.since - a.since), ...ended],
  };
}
