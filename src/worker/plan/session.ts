import type { AppState, TroubleCode } from '../../protocol/report.ts';
import type { Obstacle } from './model.ts';

/** What an app is doing, and what keeps it from its goal. */
export interface Phase {
  state: AppState;
  obstacle: Obstacle | null;
  /** Since when it has had this kind of obstacle, in seconds since the Unix epoch. */
  since: number;
}

/**
 * What is tried again by itself, each with its own back-off: `pull` the image, `create` containers, `start` the new ones,
 * `heal` the ones that run, `change` names and states (stop, rename and remove, whatever the version).
 */
export type Lane = 'pull' | 'create' | 'start' | 'heal' | 'change';

/** Something that failed, and when it is tried again. */
export interface AppTrouble {
  /** The wanted id when it failed; a higher one clears it. */
  id: number;
  code: TroubleCode;
  text: string;
  /** Seconds since the Unix epoch. */
  since: number;
  attempts: number;
  /** Seconds of the monotonic clock. */
  nextTry: number;
}

/** What failed last of an app, by lane. */
export type Troubles = Readonly<Partial<Record<Lane, AppTrouble>>>;

/** A container as it was first seen running, by the monotonic clock in seconds, with its number of restarts. */
interface Sighting {
  since: number;
  /** When it was last seen running. */
  until?: number;
  restarts: number;
  /** Whether it had stopped, and was started again. */
  isRevived?: boolean;
}

/** What the worker knows only while it runs. */
export interface Session {
  /** By container id. */
  sightings: Readonly<Record<string, Sighting>>;
  /** Ids of containers that cannot be started any more, and are recreated. */
  stuck: readonly string[];
  /** By app. */
  troubles: Readonly<Record<string, Troubles>>;
  /** Apps that use an image that could not be pulled again: by app, the id for which. */
  stale: Readonly<Record<string, { id: number; text: string; since: number }>>;
  /** Until when an app waits so that a fleet does not pull at once: by app, for an id. */
  waits: Readonly<Record<string, { id: number; until: number }>>;
  /** What each app was doing at the last look. */
  phases: Readonly<Record<string, Phase>>;
}

export const NEW_SESSION: Session = {
  sightings: {},
  stuck: [],
  troubles: {},
  stale: {},
  waits: {},
  phases: {},
};

/** What keeps a version from starting and can pass by itself: the version is taken back, and tried again later. */
const PASSING: ReadonlySet<TroubleCode> = new Set<TroubleCode>([
  'disk-pressure',
  'engine-unavailable',
  'network-missing',
  'port-conflict',
]);

/** Whether trouble says nothing about a version, so that it is tried again without a higher id. */
export function isPassing(code: TroubleCode): boolean {
  return PASSING.has(code);
}

/** Seconds. */
const FIRST_DELAY = 10;
const LONGEST_DELAY = 300;
/** Seconds without trouble after which earlier trouble is forgotten. */
export const FORGIVEN_AFTER = 600;

/** Returns the seconds until the next try: 10 doubled with each attempt up to 300, spread by a fifth (`random` in [0, 1)). */
function backoff(attempts: number, random: number): number {
  const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(attempts - 1, 10));
  return delay * (0.8 + 0.4 * random);
}

/** A moment: seconds of the monotonic clock and since the Unix epoch, and a random number in [0, 1). */
export interface Moment {
  now: number;
  wallTime: number;
  random: number;
}

/** Returns the troubles of an app after one more failed attempt of a lane, with the time of the next one. */
export function afterFailure(
  troubles: Troubles,
  lane: Lane,
  { id, code, text }: Pick<AppTrouble, 'id' | 'code' | 'text'>,
  { now, wallTime, random }: Moment,
): Troubles {
  const before = troubles[lane];
  const isSameId = before?.id === id;
  const attempts = isSameId ? before.attempts + 1 : 1;
  const since = isSameId && before.code === code ? before.since : wallTime;
  const trouble = { id, code, text, since, attempts, nextTry: now + backoff(attempts, random) };
  return { ...troubles, [lane]: trouble };
}

/** Whether what failed before may be tried for an id now. */
export function isDue(before: AppTrouble | undefined, id: number, now: number): boolean {
  return before === undefined || before.id !== id || before.nextTry <= now;
}

/** Returns what failed for an id; null if what failed, if anything did, was for another one. */
export function problemOf(trouble: AppTrouble | undefined, id: number): Obstacle | null {
  return trouble?.id !== id ? null : { code: trouble.code, text: trouble.text };
}

/** Returns the apps whose pull failed for want of room, and waits. */
export function shortOfRoom({ troubles }: Session, now: number): string[] {
  const isShort = ({ pull }: Troubles): boolean => pull?.code === 'disk-pressure' && pull.nextTry > now;
  return Object.keys(troubles).filter((app) => isShort(troubles[app] ?? {}));
}

/** Returns the session in which the pulls of some apps are tried again now. */
export function withPullsNow(session: Session, apps: readonly string[], now: number): Session {
  const troubles = { ...session.troubles };
  for (const app of apps) {
    const { pull, ...others } = troubles[app] ?? {};
    if (pull !== undefined) troubles[app] = { ...others, pull: { ...pull, nextTry: now } };
  }
  return { ...session, troubles };
}

/** Returns a map without some of its keys. */
export function without<T extends object>(map: T, ...keys: readonly string[]): T {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key))) as T;
}
