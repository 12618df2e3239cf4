import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { type Asks, createAsks } from '../../fleet/asks.ts';
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
import { createIncidentWatch } from '../incident-watch.ts';
import { identityOf } from './identity.ts';
import type { OpenedStore } from './store.ts';

/** What both functions need beside the settings. */
interface Environment {
  logger: Logger;
  clock: Clock;
}

/** What hears the devices, and what is asked of them. */
export interface HeardDevices {
  fleet: Fleet;
  asks: Asks;
}

const FLEET_LOG = {
  failing: 'what is known of devices could not be read or written; it is tried again',
  working: 'what is known of devices is read and written again',
};

/** Builds what hears the devices; starts nothing. */
export function openFleet(
  config: Config,
  { devices, asks: askStore }: OpenedStore,
  { logger, clock }: Environment,
): HeardDevices {
  const log = createFailureLog(logger, clock.now, FLEET_LOG, 'warn');
  const asks = createAsks({ store: askStore, newId: () => randomBytes(6).toString('hex'), now: clock.now });
  const fleet = createFleet({
    store: devices,
    asks,
    silentAfter: config.DEVICE_SILENT_AFTER * 1000,
    goneAfter: config.DEVICE_TTL * 1000,
    keeps: config.REPORTS,
    mostDevices: config.DEVICES_MAX,
    now: clock.now,
    elapsed: clock.elapsed,
    onFailure: log.failed,
    onRecovered: log.succeeded,
  });
  return { fleet, asks };
}

/** What says how the fleet is. */
export interface FleetViews {
  lags: Lags;
  incidents: Incidents;
  identity: FleetIdentity;
  /** Begins to hear devices, and to look at what is wrong. */
  start(): void;
  /** Ends that, and writes what is not written. */
  close(): Promise<void>;
}

/** Builds what says how the fleet is; starts nothing. */
export function openFleetViews(
  config: Config,
  parts: Pick<OpenedStore, 'store' | 'history' | 'incidents'> &
    Environment &
    HeardDevices & { source: Source },
  engine: Engine,
): FleetViews {
  const { history, source, fleet, asks, clock } = parts;
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
  return {
    lags,
    incidents: watch.incidents,
    identity: identityOf(config, source),
    start: () => {
      for (const part of [fleet, asks, watch]) part.start();
    },
    close: async () => {
      asks.close();
      await watch.stop();
      await fleet.close();
    },
  };
}

/** `5%` is a share, `5` a number. */
function limitOf(text: string): Limit {
  const number = Number.parseInt(text, 10);
  return text.endsWith('%') ? { share: number / 100 } : { number };
}
