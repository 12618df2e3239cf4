import type { Row } from '../bench.ts';
import { acts } from './acts.ts';
import { backfill } from './backfill.ts';
import { devices } from './devices.ts';
import { dryRun } from './dry-run.ts';
import { fleet } from './fleet.ts';
import { follow } from './follow.ts';
import { growth } from './growth.ts';
import { history } from './history.ts';
import { groups, info, named, notModified } from './info.ts';
import { memory } from './memory.ts';
import { pollers } from './pollers.ts';
import { reports } from './reports.ts';
import { served } from './served.ts';
import { coldStart, warmStart } from './starts.ts';
import { worker } from './worker.ts';
import { writeCost } from './write-cost.ts';
import { writes, writesAtOnce } from './writes.ts';

/** Every row by the name that `npm run bench -- <name>` takes. */
export const ROWS: Readonly<Record<string, Row>> = {
  info,
  groups,
  'not-modified': notModified,
  named,
  pollers,
  fleet,
  devices,
  served,
  'cold-start': coldStart,
  'warm-start': warmStart,
  writes,
  'writes-at-once': writesAtOnce,
  'write-cost': writeCost,
  reports,
  'dry-run': dryRun,
  acts,
  history,
  backfill,
  follow,
  memory,
  growth,
  worker,
};
