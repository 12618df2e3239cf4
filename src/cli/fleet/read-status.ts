import * as z from 'zod';
import { Convergence, DevicePage } from '../../protocol/device.ts';
import { IncidentPage } from '../../protocol/incident.ts';
import { Summary } from '../../protocol/summary.ts';
import type { ManagerAddress } from '../manager/client.ts';
import { readFrom } from '../manager/replies.ts';

/** How a fleet is, as its manager says. */
export interface FleetStatus {
  summary: z.infer<typeof SomeSummary>;
  /** Incidents that last, the newest first, at most 20. */
  incidents: IncidentPage['incidents'];
  convergence: Convergence;
  /** The worst devices: failed, behind for longest, silent for longest; some of each. */
  devices: DevicePage['devices'];
  /** The device that has been behind for longest; null if none is. */
  longestBehind: DevicePage['devices'][number] | null;
}

/** A newer manager can have further states. */
const SomeSummary = Summary.extend({ state: z.string(), devices: z.record(z.string(), z.int()) });

/** How many devices of each bad state are read. */
const MOST_DEVICES = 10;
const BAD_STATES = ['failed', 'behind', 'silent'] as const;

/** Reads how the fleet is. Rejects as `unavailable` if the manager does not say. */
export async function readStatus(manager: ManagerAddress): Promise<FleetStatus> {
  const [summary, incidents, convergence, ...pages] = await Promise.all([
    readFrom(manager, 'summary', SomeSummary),
    readFrom(manager, 'incidents?page_size=20', IncidentPage),
    readFrom(manager, 'convergence', Convergence),
    ...BAD_STATES.map((state) =>
      readFrom(manager, `devices?state=${state}&sort=since&page_size=${MOST_DEVICES}`, DevicePage),
    ),
  ]);
  return {
    summary,
    incidents: incidents.incidents.filter(({ until }) => until === null),
    convergence,
    devices: pages.flatMap((page) => page.devices),
    longestBehind: pages[BAD_STATES.indexOf('behind')]?.devices[0] ?? null,
  };
}
