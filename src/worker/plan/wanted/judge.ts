import type { Failed, Good } from '../memory.ts';
import type { Obstacle, Wanted, WantedApp } from '../model.ts';
import { isPassing } from '../session.ts';
import type { AppView } from '../view.ts';
import { type Version, versionOf } from './version.ts';

/** What is to become of an app. */
export type Aim =
  /** Bring it to a version, and keep it well. */
  | { kind: 'run'; version: Version }
  /** Remove its containers. `heir`: an app that takes over a port of its and is not known to be good yet; until then they stay. */
  | { kind: 'stop'; heir: string | null }
  /** Leave it as it is, and heal what was good. `failed`: a version that has to be taken back first, if it is there. */
  | { kind: 'stay'; obstacle: Obstacle | null; failed: Failed | null };

/** Returns what is to become of an app (docs/devices.md, "When a device acts"). */
export function judge(view: AppView, wanted: Wanted | null, now: number): Aim {
  const app = view.wanted;
  if (wanted === null) return stay(null);
  if (app === null) return { kind: 'stop', heir: null };
  if (app.obstacle !== null || !isValid(app)) return stay(app.obstacle);
  const { good } = view.memory;
  const has = good?.source === wanted.source ? good : null;
  const obstacle = has === null ? null : obstacleOf(app, has);
  if (obstacle !== null) return stay(obstacle);
  const takenBack = view.memory.failed ?? markedVersion(view, wanted.source);
  const failed = failedVersion(view, app, takenBack, now);
  if (failed !== null) return stay({ code: failed.code, text: failed.text }, failed);
  if (!app.record.running) return { kind: 'stop', heir: null };
  return { kind: 'run', version: versionOf(app, wanted.source, has, takenBack) };
}

function stay(obstacle: Obstacle | null, failed: Failed | null = null): Aim {
  return { kind: 'stay', obstacle, failed };
}

function isValid(app: WantedApp): app is WantedApp & { record: NonNullable<WantedApp['record']> } {
  return app.record !== null;
}

function obstacleOf(app: WantedApp, has: Good): Obstacle | null {
  if (app.id < has.id) {
    const text = `the manager says id ${app.id}, but this device has acted on ${has.id}; waiting for a higher id`;
    return { code: 'ids-behind', text };
  }
  if (app.id > has.id || app.content === has.content) return null;
  const text = `the content has changed, but not the id ${app.id}; waiting for a higher id`;
  return { code: 'content-without-id', text };
}

/** Returns the version that was taken back last, if that is known from the mark that its containers are alone. */
function markedVersion({ slots }: AppView, source: string): Failed | null {
  const marks = [...slots.values()].flatMap(({ failed }) => (failed?.source === source ? [failed] : []));
  const newest = marks.toSorted((a, b) => b.appId - a.appId)[0];
  if (newest === undefined) return null;
  const text = 'it failed before this worker lost its memory';
  return { id: newest.appId, content: newest.content, code: 'crashed', text, since: 0, log: [] };
}

/** Returns the wanted version if it has failed here and is not to be tried again now. */
function failedVersion(
  { memory, troubles }: AppView,
  { id }: WantedApp,
  takenBack: Failed | null,
  now: number,
): Failed | null {
  if (memory.retry === id || takenBack?.id !== id) return null;
  if (memory.failed === null || !isPassing(takenBack.code)) return takenBack;
  return (troubles.start?.nextTry ?? 0) <= now ? null : takenBack;
}
