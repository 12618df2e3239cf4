import { describe, expect, it } from 'vitest';
import { renderStatus } from '../../../src/worker/status/render.ts';
import { isAppAsWanted, isAsWanted, type WorkerStatus } from '../../../src/worker/status/status.ts';
import { app, deviceStatus, trouble } from '../support.ts';

/** Seconds since the Unix epoch. */
const NOW = 1_000_100;

const FAILED_VERSION = trouble({
  code: 'unhealthy',
  text: 'shop-1 was not healthy within 120 s',
  attempts: 1,
  next_try: null,
  log: ['listening on :80', 'fatal: no database'],
});

const TROUBLED = deviceStatus({
  manager: {
    address: 'https://fleet.example/holdfast',
    last_good_poll: NOW - 7265,
    error: 'connect ECONNREFUSED 10.0.0.1:443',
    next_poll: NOW + 42,
    is_lost: true,
  },
  worker: { version: '1.2.3', started: 900_000, engine: null, api: null },
  looked_at: NOW - 310,
  uptime: 90_061,
  revision: null,
  apps: [
    app({ wanted: 11, running: 10 }),
    app({
      name: 'shop',
      wanted_id: 22,
      running_id: 21,
      state: 'rolled_back',
      image: 'ghcr.io/acme/shop:2.0',
      error: FAILED_VERSION,
    }),
    app({
      name: 'till',
      wanted_id: 9,
      running_id: null,
      state: 'failing',
      running: 0,
      image: null,
      error: trouble({ attempts: 4, text: 'registry.example: 500' }),
    }),
  ],
  containers: [],
  problems: [
    trouble({ code: 'manager-unavailable', text: 'connect ECONNREFUSED 10.0.0.1:443', since: NOW - 7000 }),
    trouble({ code: 'state-not-saved', text: 'no space left', since: NOW - 5, next_try: null }),
  ],
});

describe('renderStatus', () => {
  it('shows a device that runs what it should', () => {
    expect(renderStatus(deviceStatus(), NOW)).toBe(`\
Device    shop-17 in the device group edge
Worker    1.2.3, process 4711, started 1 min 40 s ago
Engine    docker 20.10.24, API 1.41
Manager   https://fleet.example, answered 7 s ago, asked again in 3 s
Revision  0123456789abcdef0123456789abcdef01234567
State     everything as wanted

APP  STATE    CONTAINERS  WANTED ID  RUNNING ID  IMAGE
web  running  1 of 1      17         17          nginx:1.27

CONTAINER  STATE    HEALTH   RESTARTS  ID            IMAGE
web-1      running  healthy  0         f00dfeedf00d  nginx:1.27
`);
  });

  it('shows for each trouble what, since when, and when the worker tries again or what to do', () => {
    expect(renderStatus(TROUBLED, NOW)).toBe(`\
Device    shop-17 in the device group edge
Worker    1.2.3, process 4711, started 1 d 1 h ago
Engine    not reached
Manager   https://fleet.example/holdfast, answered 2 h 1 min ago, asked again in 42 s; last error: connect ECONNREFUSED 10.0.0.1:443
Revision  unknown
State     waits for the container engine

APP   STATE 5 min 10 s AGO  CONTAINERS  WANTED ID  RUNNING ID  IMAGE
web   running               10 of 11    17         17          nginx:1.27
shop  rolled_back           1 of 1      22         21          ghcr.io/acme/shop:2.0
  unhealthy for 1 min: shop-1 was not healthy within 120 s; not tried again before a higher id; to try it now: holdfast worker retry shop
    | listening on :80
    | fatal: no database
till  failing               0 of 1      9          -           -
  pull-failed for 1 min, 4 attempts: registry.example: 500; next try in 30 s

PROBLEMS
  manager-unavailable for 1 h 56 min: connect ECONNREFUSED 10.0.0.1:443; next try in 30 s
  warning: state-not-saved for 5 s: no space left
`);
  });

  it('names an image with a short digest, and does not want what has left the group', () => {
    const digest = `sha256:${'0123456789ab'.padEnd(64, 'f')}`;
    const kept = app({
      name: 'till',
      state: 'kept',
      wanted_id: 0,
      wanted: 0,
      image: `till@${digest}`,
      digest,
    });
    const stopped = app({
      name: 'shop',
      state: 'stopped',
      wanted: 0,
      running: 0,
      running_id: null,
      image: null,
    });
    const text = renderStatus(deviceStatus({ apps: [app({ digest }), kept, stopped], containers: [] }), NOW);
    expect(text).toContain(`
APP   STATE    CONTAINERS  WANTED ID  RUNNING ID  IMAGE
web   running  1 of 1      17         17          nginx:1.27@sha256:0123456789ab
till  kept     1           -          17          till@sha256:0123456789ab
shop  stopped  0           17         -           -
`);
  });

  it.each<[string, Partial<WorkerStatus>, string]>([
    ['nothing is to be said', {}, 'everything as wanted'],
    [
      'there is a warning',
      { problems: [trouble({ code: 'state-not-saved' })] },
      'everything as wanted, but see the warnings',
    ],
    [
      'there is a warning of an app',
      { apps: [app({ error: trouble({ code: 'stale-image' }) })] },
      'everything as wanted, but see the warnings',
    ],
    [
      'there is a problem',
      { problems: [trouble({ code: 'disk-pressure' })] },
      'everything as wanted, but see the problems',
    ],
    [
      'the manager is away',
      {
        manager: { ...deviceStatus().manager, last_good_poll: NOW - 7200, error: '500' },
        problems: [trouble({ code: 'manager-unavailable' })],
      },
      'everything as wanted by the manager 2 h ago',
    ],
    [
      'the manager has been away since the start',
      {
        manager: { ...deviceStatus().manager, last_good_poll: null, error: '500' },
        apps: [app({ wanted: 2 })],
      },
      '0 of 1 apps as wanted by the manager before this worker started',
    ],
  ])('says in one line how things are if %s', (_name, members, state) => {
    expect(renderStatus(deviceStatus(members), NOW)).toContain(`\nState     ${state}\n`);
  });

  it('shows a device that has not heard from its manager yet', () => {
    const text = renderStatus(
      deviceStatus({
        manager: { address: 'http://m', last_good_poll: null, error: null, next_poll: null, is_lost: false },
        applied: null,
        ids: { device_group_id: null, prune_id: null, apps: {} },
        apps: [],
        containers: [],
      }),
      NOW,
    );
    expect(text).toContain('Manager   http://m, no good answer yet\n');
    expect(text).toContain('State     does not know yet what to run: waits for the manager\n');
    expect(text).not.toContain('APP');
  });

  it('is not confused by a clock that was set back', () => {
    expect(renderStatus(deviceStatus(), 500)).toContain('answered 0 s ago, asked again in 11 d 13 h');
  });

  it('has no characters that a terminal would act on', () => {
    const evil = 'x\u001b[2J\r\n\u202ey';
    const status = deviceStatus({
      problems: [trouble({ text: evil })],
      apps: [app({ image: evil, error: trouble({ text: evil, log: [evil] }) })],
    });
    expect(renderStatus(status, NOW).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  });
});

describe('a device', () => {
  it.each<[string, Partial<WorkerStatus>, boolean]>([
    ['is as wanted if every app runs', {}, true],
    ['is as wanted without apps', { apps: [] }, true],
    [
      'is as wanted if what should not run is stopped',
      { apps: [app({ state: 'stopped', running: 0 })] },
      true,
    ],
    [
      'is as wanted beside a warning of an app',
      { apps: [app({ error: trouble({ code: 'stale-image' }) })] },
      true,
    ],
    [
      'is as wanted beside a warning of the device',
      { problems: [trouble({ code: 'state-not-saved' })] },
      true,
    ],
    [
      'is as wanted while its manager is away',
      { problems: [trouble({ code: 'manager-unavailable' })] },
      true,
    ],
    [
      'is not as wanted before it knows what to run',
      { apps: [], applied: null, ids: { device_group_id: null, prune_id: null, apps: {} } },
      false,
    ],
    ['is not as wanted if a container is missing', { apps: [app({ wanted: 2 })] }, false],
    ['is not as wanted while an app is updated', { apps: [app({ state: 'updating' })] }, false],
    ['is not as wanted if an app was taken back', { apps: [app(), app({ state: 'rolled_back' })] }, false],
    ['is not as wanted without its engine', { problems: [trouble({ code: 'engine-unavailable' })] }, false],
  ])('%s', (_name, members, expected) => {
    expect(isAsWanted(deviceStatus(members))).toBe(expected);
  });

  it('has an app that should be stopped, and is not as wanted with an error of it', () => {
    expect(isAppAsWanted(app({ state: 'stopped', error: trouble() }))).toBe(false);
  });
});
