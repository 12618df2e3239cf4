import type { Knowledge } from './learn.ts';
import { without } from './session.ts';
import { NO_MEMORY } from './view.ts';

/**
 * Returns what the worker knows once somebody has asked to try a version again that was taken back, or that waits. Its
 * image is pulled again, for what was wrong may have been fixed in the registry. If it fails again, it is taken back again.
 */
export function retry({ memory, session }: Knowledge, app: string, id: number): Knowledge {
  const known = { ...(memory.apps[app] ?? NO_MEMORY), failed: null, staged: null, retry: id };
  return {
    memory: { ...memory, apps: { ...memory.apps, [app]: known } },
    session: { ...session, troubles: without(session.troubles, app) },
  };
}
