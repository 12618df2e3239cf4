import type { Logger } from 'pino';
import { createFleet, type Fleet } from '../../fleet/fleet.ts';
import { createLags, type Lags } from '../../fleet/lags.ts';
import type { FleetIdentity } from '../../http/api.ts';
import type { Limit } from '../../incidents/conditions.ts';
import type { Incidents } from '../../incidents/incidents.ts';
import { createFailureLog } from '../../log/failure-log.ts';
import type { Clock } from '../../process/clock.ts';
import type { Config } from '../../settings/table.ts';
import type { Source } from '../../source/source.ts';
import type { Engine } from '../engine.ts';
import { createIncidentWatch, type IncidentWatch } from '../incident-watch.ts';
import { identityOf } from './identity.ts';
import type { OpenedStore } from './store.ts';

/** What both functions need beside the settings. */
interface Environment {
  logger: Logger;
  clock: Clock;
}

const FLEET_LOG = {
  failing: 'what is known of devices could not be read or written; it is tried again',
  working: 'what is known of devices is read and written again',
};

/** Builds what hears the devices; starts nothing. */
export function openFleet(config: Config, { devices }: OpenedStore, { logger, clock }: Environment): Fleet {
  const log = createFailureLog(logger, clock.now, FLEET_LOG, 'warn');
  return createFleet({
    store: devices,
    silentAfter: config.DEVICE_SILENT_AFTER * 1000,
    goneAfter: config.DEVICE_TTL * 1000,
    keeps: config.REPORTS,
    mostDevices: config.DEVICES_MAX,
    now: clock.now,
    onFailure: log.failed,
    onRecovered: log.succeeded,
  });
}

/** What says how the fleet is. */
export interface FleetViews {
  watch: IncidentWatch;
  lags: Lags;
  incidents: Incidents;
  identity: FleetIdentity;
}

/** Builds what says how the fleet is; starts nothing. */
export function openFleetViews(
  config: Config,
  parts: OpenedStore & Environment & { fleet: Fleet; source: Source },
  engine: Engine,
): FleetViews {
  const { history, source, clock } = parts;
  const limits = { failed: limitOf(config.ALERT_FAILED), silent: limitOf(config.ALERT_SILENT) };
  const watch = createIncidentWatch({
    ...parts,
    ...engine,
    incidents: parts.incidents,
    limits,
    now: clock.now,
  });
  engine.events.on('passed', watch.lookSoon);
  const lags = createLags(history, () => engine.indexer.catchUp());
  return { watch, lags, incidents: watch.incidents, identity: identityOf(config, source) };
}

/** `5%` is a share, `5` a number. */
function limitOf(text: string): Limit {
  const number = Number.parseInt(text, 10);
  return text.endsWith('%') ? { share: number / 100 } : { number };
}
