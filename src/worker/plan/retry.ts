import type { Knowledge } from './learn.ts';
import { without } from './session.ts';

/**
 * Returns what the worker knows once somebody has asked to try a version again that was taken back, or that waits. Its
 * image is pulled again, for what was wrong may have been mended in the registry. If it fails again, it is taken back again.
 */
export function retry({ memory, session }: Knowledge, app: string, id: number): Knowledge {
  const known = memory.apps[app];
  const apps =
    known === undefined ? memory.apps : { ...memory.apps, [app]: { ...known, failed: null, staged: null } };
  const troubles = without(session.troubles, app);
  return {
    memory: { ...memory, apps },
    session: { ...session, troubles, retries: { ...session.retries, [app]: id } },
  };
}
