import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { messageOf } from '../errors.ts';
import { countDevices } from '../fleet/counts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Keeper } from '../ids/keeper/keeper.ts';
import { type AlertLimits, type Conditions, conditionsOf } from '../incidents/conditions.ts';
import { createIncidents, type Incidents } from '../incidents/incidents.ts';
import { createFailureLog } from '../log/failure-log.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { keys } from '../store/entry.ts';
import type { HistoryStore } from '../store/history/port.ts';
import type { Incident, IncidentKind } from '../store/incidents/incident.ts';
import type { IncidentStore } from '../store/incidents/port.ts';
import type { Reachable } from '../store/objects/port.ts';

/** What the watch looks at. */
export interface IncidentWatchParts {
  reconciler: Reconciler;
  keeper: Pick<Keeper, 'status'>;
  fleet: Fleet;
  store: Reachable;
  history: HistoryStore;
  incidents: IncidentStore;
  limits: AlertLimits;
  logger: Logger;
  now(): number;
}

export interface IncidentWatch {
  incidents: Incidents;
  /** Looks now, and then again and again. */
  start(): void;
  /** Looks as soon as the look that runs is over. */
  lookSoon(): void;
  /** Waits for the look that runs. */
  stop(): Promise<void>;
}

/** Milliseconds between two looks. */
const INTERVAL = 10_000;

const TEXTS = {
  failing: 'incidents could not be read or written; it is tried again',
  working: 'incidents are read and written again',
};

/** What the logs of passes, origin and the record say by themselves. */
const LOGGED: ReadonlySet<IncidentKind> = new Set(['pass', 'origin', 'ids', 'problem', 'revision']);

export function createIncidentWatch(parts: IncidentWatchParts): IncidentWatch {
  const { logger, now } = parts;
  const log = createFailureLog(logger, now, TEXTS, 'warn');
  const incidents = createIncidents({
    store: parts.incidents,
    conditions: () => conditionsNow(parts),
    onChange: (incident) => logChange(logger, incident),
    newId: () => randomBytes(6).toString('hex'),
    now,
  });
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let isWanted = false;
  let isStopped = false;

  const look = async (): Promise<void> => {
    do {
      isWanted = false;
      await incidents.look().then(log.succeeded, (error: unknown) => isStopped || log.failed(error));
    } while (isWanted && !isStopped);
  };
  const lookSoon = (): void => {
    isWanted = true;
    if (isStopped) return;
    running ??= look().finally(() => {
      running = null;
    });
  };
  return {
    incidents,
    lookSoon,
    start: () => {
      timer = setInterval(lookSoon, INTERVAL).unref();
      lookSoon();
    },
    stop: async () => {
      isStopped = true;
      if (timer !== null) clearInterval(timer);
      await running;
    },
  };
}

function logChange(logger: Logger, { id, key, kind, since, until, text }: Incident): void {
  if (LOGGED.has(kind)) return;
  const facts = { incident: id, key, since: new Date(since).toISOString() };
  if (until === null) logger.warn(facts, text);
  else logger.info({ ...facts, until: new Date(until).toISOString() }, `over: ${text}`);
}

async function conditionsNow(parts: IncidentWatchParts): Promise<Conditions> {
  const { reconciler, keeper, fleet, store, limits } = parts;
  const status = reconciler.status();
  const storeProblem = await store.ping().then(() => null, messageOf);
  const convergence = await fleet.known().then(
    (known) => countDevices(known, fleet.anonymousPolls()),
    () => null,
  );
  const author =
    status.state === 'refused' ? await authorOf(status.attempted?.revision, parts.history) : null;
  const applied = reconciler.passes.memory()?.applied;
  const groupsListing = (app: string): Iterable<string> => applied?.groupsListing(app) ?? [];
  const hasRead = reconciler.passes.head() !== null;
  return conditionsOf(
    { status, hasRead, record: keeper.status(), storeProblem, convergence, author, groupsListing },
    limits,
  );
}

async function authorOf(revision: string | undefined, history: HistoryStore): Promise<string | null> {
  if (revision === undefined) return null;
  const query = { keys: [[keys.revision(revision)]], kinds: null, since: null, until: null, text: null };
  const found = await history.entries(query, null, 1).catch(() => null);
  return found?.entries[0]?.actor.name ?? null;
}
