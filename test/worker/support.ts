import type { WorkerReport } from '../../src/protocol/report.ts';
import type { WorkerStatus } from '../../src/worker/status/status.ts';

/** The state of a device that runs one app as wanted, with some members replaced. */
export function deviceStatus(members: Partial<WorkerStatus> = {}): WorkerStatus {
  return {
    hostname: 'shop-17',
    device_group: 'edge',
    pid: 4711,
    worker: { version: '1.2.3', started: 1_000_000, engine: 'docker 20.10.24', api: '1.41' },
    manager: {
      address: 'https://fleet.example',
      last_good_poll: 1_000_093,
      error: null,
      next_poll: 1_000_103,
      is_lost: false,
    },
    revision: '0123456789abcdef0123456789abcdef01234567',
    applied: '"00aa.7-x"',
    ids: { device_group_id: 3, prune_id: 1, apps: { web: 17 } },
    apps: [app()],
    containers: [
      {
        id: 'f00dfeedf00dfeedf00d',
        name: 'web-1',
        app: 'web',
        slot: 1,
        image: 'nginx:1.27',
        state: 'running',
        health: 'healthy',
        restarts: 0,
      },
    ],
    problems: [],
    looked_at: 1_000_095,
    reports_dropped: 0,
    uptime: 100,
    ...members,
  };
}

/** An app as a report shows it: one that runs as wanted, with some members replaced. */
export function app(members: Partial<WorkerReport['apps'][number]> = {}): WorkerReport['apps'][number] {
  return {
    name: 'web',
    wanted_id: 17,
    running_id: 17,
    state: 'running',
    wanted: 1,
    running: 1,
    image: 'nginx:1.27',
    digest: null,
    error: null,
    ...members,
  };
}

/** Trouble since a minute before 1,000,100, with some members replaced. */
export function trouble(
  members: Partial<WorkerReport['problems'][number]> = {},
): WorkerReport['problems'][number] {
  return {
    code: 'pull-failed',
    text: 'no route to host',
    since: 1_000_040,
    attempts: 1,
    next_try: 1_000_130,
    ...members,
  };
}
