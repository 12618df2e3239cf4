import { describe, expect, it } from 'vitest';
import type { AppRecord } from '../../../src/protocol/info.ts';
import { unusedImages } from '../../../src/worker/plan/images.ts';
import {
  containerName,
  labelsFor,
  readLabels,
  readNebulaLabels,
  roleOf,
} from '../../../src/worker/plan/labels.ts';
import { emptyMemory } from '../../../src/worker/plan/memory.ts';
import { ROLES } from '../../../src/worker/plan/model.ts';
import { aimsIn } from '../../../src/worker/plan/plan.ts';
import { afterFailure, NEW_SESSION, type Troubles } from '../../../src/worker/plan/session.ts';
import { contentOf } from '../../../src/worker/plan/wanted/content.ts';
import { senderOf } from '../../../src/worker/plan/wanted/sender.ts';
import { type Policy, readWanted, refuse } from '../../../src/worker/plan/wanted/wanted.ts';
import { describeAim } from '../../../src/worker/status/describe-aim.ts';
import { LIKE_ABSENT, OPTIONAL_SAMPLES } from '../../support/optional-fields.ts';
import { record, Simulation, wanted } from './simulation.ts';

const MACHINE = { cores: 4, memory: 2048 * 1_048_576 };
const ALL: Policy = { maxContainers: 100, allowPrivileged: true, allowMounts: null, allowImages: null };

function read(fields: Record<string, unknown>, policy: Partial<Policy> = {}) {
  const its = { ...record('web', 5), ...fields };
  const reply = { groupId: 1, pruneId: 1, apps: [{ name: 'web', id: 5, record: its }] };
  const [app] = readWanted(reply, 'source', MACHINE, { ...ALL, ...policy }).apps;
  return app;
}

/** What reaches beyond a container as privileges do. */
const POWERS: readonly Partial<AppRecord>[] = [
  { cap_add: ['SYS_ADMIN'] },
  { cap_add: ['CHOWN', 'CAP_NET_ADMIN'] },
  { cap_add: ['ALL'] },
  { security_opt: ['seccomp:unconfined'] },
  { security_opt: ['apparmor=unconfined'] },
  { security_opt: ['label:disable'] },
  { security_opt: ['no-new-privileges:false'] },
  { logging: { driver: 'syslog', options: { 'syslog-address': 'unix:///var/run/docker.sock' } } },
  { logging: { options: { 'syslog-address': 'tcp://10.0.0.1:514' } } },
  { logging: { driver: 'json-file', options: { mode: 'non-blocking', 'max-buffer-size': '64g' } } },
  { logging: { driver: 'journald', options: { 'max-buffer-size': '64g' } } },
  { ulimits: { rtprio: 99 } },
  { ulimits: { nice: 40 } },
  { ulimits: { memlock: -1 } },
  { ulimits: { nofile: 1024, rttime: { soft: 1, hard: -1 } } },
];

const OPTIONAL: Partial<AppRecord> = Object.fromEntries(
  Object.entries(OPTIONAL_SAMPLES).map(([field, [value]]) => [field, value]),
);

describe('the number of containers', () => {
  it.each<[string, AppRecord['containers_per'], number]>([
    ['is that of server', { server: 3 }, 3],
    ['is that of instance', { instance: 2 }, 2],
    ['is per core, rounded down', { cpu: 0.6 }, 2],
    ['is one per so many MiB', { memory: 500 }, 4],
    ['is one per so many MiB, by the short name', { mem: 1024 }, 2],
    ['is that of the last key', { server: 9, cpu: 1 }, 4],
    ['can be none', { cpu: 0.1 }, 0],
  ])('%s', (_name, containers_per, count) => {
    expect(read({ containers_per })?.count).toBe(count);
  });

  it('is none for an app that is not to run', () => {
    expect(read({ running: false, containers_per: { server: 3 } })?.count).toBe(0);
  });
});

describe('an app', () => {
  it.each<[string, Record<string, unknown>, Partial<Policy>, string | null]>([
    [
      'is done if all is allowed',
      { privileged: true, volumes: ['/etc:/etc'], devices: ['/dev/x:/dev/x'] },
      {},
      null,
    ],
    ['is left if a field is invalid', { env_vars: 3 }, {}, 'invalid-app'],
    ['is left if it wants too many', { containers_per: { server: 101 } }, {}, 'too-many-containers'],
    ['is done with the most that are allowed', { containers_per: { server: 100 } }, {}, null],
    [
      'is left if its last port is beyond 65535',
      { starting_ports: [65_535], containers_per: { server: 2 } },
      {},
      'invalid-app',
    ],
    [
      'is done if its last port is 65535',
      { starting_ports: [65_534], containers_per: { server: 2 } },
      {},
      null,
    ],
    ['is left if it may not be privileged', { privileged: true }, { allowPrivileged: false }, 'not-allowed'],
    [
      'is left if it may not have devices',
      { devices: ['/dev/x:/dev/x'] },
      { allowPrivileged: false },
      'not-allowed',
    ],
    ...POWERS.map(
      (fields) =>
        [
          `is left if it may not ask for ${JSON.stringify(fields)}`,
          fields,
          { allowPrivileged: false },
          'not-allowed',
        ] as const,
    ).map((row): [string, Record<string, unknown>, Partial<Policy>, string] => [...row]),
    [
      'is done without privileges if it takes away, limits, or asks for what containers have anyway',
      {
        cap_drop: ['ALL'],
        cap_add: ['NET_BIND_SERVICE', 'CAP_CHOWN'],
        security_opt: ['no-new-privileges:true', 'no-new-privileges'],
        logging: { driver: 'json-file', options: { 'max-size': '10m' } },
        ulimits: { nofile: 65_536, core: 0 },
        user: 'root',
        memory: '64m',
        tmpfs: ['/run'],
      },
      { allowPrivileged: false },
      null,
    ],
    [
      'is done although a nested field is not known',
      { healthcheck: { test: 'true', start_interval: 5 }, logging: { driver: 'none', mode: 'x' } },
      {},
      null,
    ],
    ['is left if the value of an optional field is not known', { restart: 'sometimes' }, {}, 'invalid-app'],
    ['is left if its image is not allowed', {}, { allowImages: ['ghcr.io/acme/'] }, 'not-allowed'],
    ['is done if its image is allowed', {}, { allowImages: ['ghcr.io/acme/', 'web'] }, null],
    ['is done with a folder that is allowed', { volumes: ['/srv:/a'] }, { allowMounts: ['/srv'] }, null],
    [
      'is done with a folder in one that is allowed',
      { volumes: ['/srv//x/./:/a'] },
      { allowMounts: ['/srv'] },
      null,
    ],
    [
      'is left with a folder that only begins alike',
      { volumes: ['/srv2:/a'] },
      { allowMounts: ['/srv'] },
      'not-allowed',
    ],
    [
      'is left with a way out of a folder',
      { volumes: ['/srv/../etc:/a'] },
      { allowMounts: ['/srv'] },
      'not-allowed',
    ],
    [
      'is left with the socket of the engine',
      { volumes: ['/var/run/docker.sock:/s'] },
      { allowMounts: ['/srv'] },
      'not-allowed',
    ],
    ['is done with a named volume', { volumes: ['data:/a'] }, { allowMounts: [] }, null],
    ['is done with any folder if / is allowed', { volumes: ['/etc:/a'] }, { allowMounts: ['/'] }, null],
  ])('%s', (_name, fields, policy, code) => {
    expect(read(fields, policy)?.obstacle?.code ?? null).toBe(code);
  });
});

describe('a reply', () => {
  const of = (groupId: number, ...names: string[]) => ({
    groupId,
    pruneId: 1,
    apps: names.map((name) => ({ name, id: 1, record: {} })),
  });

  it.each<[string, ReturnType<typeof of>, number | null, string[], string | null]>([
    ['is accepted if it is the first', of(1), null, ['web'], null],
    ['is accepted if nothing changed', of(3, 'web'), 3, ['web'], null],
    ['is accepted if an app left with a higher id', of(4), 3, ['web'], null],
    ['is accepted if an app came without a higher id', of(3, 'web', 'api'), 3, ['web'], null],
    ['is refused if an app left without a higher id', of(3, 'api'), 3, ['web'], 'bad-reply'],
    ['is refused if the id fell', of(2, 'web'), 3, ['web'], 'ids-behind'],
  ])('%s', (_name, reply, groupId, apps, code) => {
    expect(refuse(reply, groupId, apps)?.code ?? null).toBe(code);
  });
});

describe('the source of ids', () => {
  it('is that of the fleet and the group, or of the address until a reply has named the fleet', () => {
    const fresh = { source: null, named: null, epoch: 0 };
    const first = senderOf('f1ee', 'https://a', 'edge', fresh);
    expect(first).toMatchObject({ source: '90e00f83a55d0782', isSame: false });
    const known = { ...fresh, source: first.source, named: first.named };
    const sources = [
      first.source,
      senderOf('beef', 'https://a', 'edge', known).source,
      senderOf('f1ee', 'https://a', 'shops', known).source,
      senderOf('f1ee', 'https://a', 'edge', { ...known, epoch: 1 }).source,
      senderOf(null, 'https://b', 'edge', known).source,
    ];
    expect(new Set(sources).size).toBe(5);
    expect(senderOf('f1ee', 'https://b', 'edge', known)).toMatchObject({
      source: first.source,
      isSame: true,
    });
    expect(senderOf(null, 'https://a', 'edge', known)).toEqual({ ...first, isSame: true });
    const unnamed = senderOf(null, 'https://a', 'edge', fresh);
    expect(senderOf('f1ee', 'https://a', 'edge', { ...fresh, source: unnamed.source })).toMatchObject({
      source: first.source,
      isSame: true,
    });
  });
});

describe('the hash of the content', () => {
  it.each<[string, Partial<AppRecord>, string]>([
    ['of defaults', {}, '1:d7d3f30d4a387574d5e5772b842795648ec9bc37664bbc3258d1cba220c450e5'],
    [
      'of the fields that every app has',
      {
        container_image: 'nginx:1.27',
        starting_ports: [80, { '127.0.0.1:8080': '81' }],
        env_vars: { B: '2', A: 'ü' },
        volumes: ['/srv:/srv:ro'],
        networks: ['host'],
        devices: ['/dev/x:/dev/x'],
        privileged: true,
      },
      '1:9bb6bd3058dd9f8ecd28becaed0725045fdf65b451dff43f5f7f462f58b677ed',
    ],
    ['of optional fields', OPTIONAL, '1:2e7cbe1ceb901bbe12db3995308e4ba1d8d5649c7052315c20cd4cdc8406f8ee'],
  ])('never changes: that %s is on devices forever', (_name, fields, hash) => {
    expect(contentOf(record('web', 1, fields))).toBe(hash);
  });

  it('is that of an app without optional fields if they say the same', () => {
    for (const [field, value] of LIKE_ABSENT)
      expect(contentOf(record('web', 1, { [field]: value }))).toEqual(contentOf(record('web', 1)));
  });

  it('differs for each value of each optional field but pull_policy', () => {
    const { pull_policy: _, ...shown } = OPTIONAL_SAMPLES;
    const contents = Object.entries(shown).flatMap(([field, values]) =>
      values.map((value) => contentOf(record('web', 1, { [field]: value }))),
    );
    expect(new Set(contents).size).toBe(contents.length);
    expect(contentOf(record('web', 1, { pull_policy: 'missing' }))).toEqual(contentOf(record('web', 1)));
  });

  it('does not depend on the id, the count, the way of replacing, or the order of variables', () => {
    const its = record('web', 1, { env_vars: { A: '1', B: '2' } });
    const same = record('api', 9, {
      env_vars: { B: '2', A: '1' },
      containers_per: { cpu: 1 },
      rolling_restart: true,
      running: false,
    });
    expect(contentOf(same)).toEqual(contentOf(its));
    expect(contentOf(record('web', 1, { env_vars: { A: '1', B: '3' } }))).not.toEqual(contentOf(its));
  });
});

describe('labels', () => {
  const version = { name: 'web', id: 7, content: '1:abc', count: 2 };

  it('are read as they were written', () => {
    const labels = labelsFor(version, { slot: 2, source: 's', worker: 'main' });
    expect(readLabels(labels, 'main')).toEqual({
      app: 'web',
      slot: 2,
      appId: 7,
      content: '1:abc',
      count: 2,
      source: 's',
    });
  });

  it.each<[string, Record<string, string>]>([
    ['of nobody', {}],
    ['of another worker', labelsFor(version, { slot: 1, source: 's', worker: 'other' })],
    ['without a worker', { 'holdfast.app': 'web' }],
  ])('%s are of a foreign container', (_name, labels) => {
    expect(readLabels(labels, 'main')).toBeNull();
  });

  it('of Nebula say the app, and the name says the slot', () => {
    const labels = { orchestrator: 'nebula', app_name: 'web' };
    expect(readNebulaLabels(labels, 'web-12')).toMatchObject({ app: 'web', slot: 12, appId: 0, source: '' });
    expect(readNebulaLabels(labels, 'web-3.old')).toMatchObject({ slot: 3 });
    expect(readNebulaLabels({ app_name: 'web' }, 'web-1')).toBeNull();
  });

  it('and names go together', () => {
    expect(containerName('b.', 'web', 2, 'next')).toBe('b.web-2.next');
    const names = ['web-1', 'web-1.next', 'web-1.next.joining', 'web-1.old', 'web-1.failed'];
    expect(names.map((name) => roleOf(name, '', 'web', 1))).toEqual(ROLES);
    for (const name of ['odd', 'web-2', 'b.web-1', 'web-1.new'])
      expect(roleOf(name, '', 'web', 1)).toBeNull();
    expect(roleOf('b.web-1.old', 'b.', 'web', 1)).toBe('old');
  });
});

describe('images that may go', () => {
  it('are those that this worker pulled and nothing uses or wants, the least recently used first', () => {
    const d = new Simulation();
    d.wanted = wanted([record('web', 1)]);
    d.settle(20);
    for (const name of ['late', 'early', 'used', 'foreign']) d.images.set(name, name);
    d.foreign.push({ name: 'db', imageId: 'used', ports: [] });
    const pulled = (reference: string, lastUse: number) => ({ reference, lastUse });
    const memory = {
      ...d.memory,
      pulled: {
        ...d.memory.pulled,
        late: pulled('late', 9),
        early: pulled('early', 2),
        used: pulled('used', 1),
        gone: pulled('gone', 1),
      },
    };
    expect(unusedImages(memory, d.actual(), d.wanted)).toEqual(['early', 'late']);
    expect(unusedImages(emptyMemory(), d.actual(), d.wanted)).toEqual([]);
  });
});

describe('the pause after a failure', () => {
  it.each<[attempts: number, random: number, seconds: number]>([
    [1, 0.5, 10],
    [1, 0, 8],
    [2, 0.5, 20],
    [5, 0.5, 160],
    [6, 0.5, 300],
    [60, 1, 360],
  ])('number %i, with chance %f, is %i s', (attempts, random, seconds) => {
    let troubles: Troubles = {};
    const trouble = { id: 1, code: 'pull-failed' as const, text: '' };
    for (let attempt = 0; attempt < attempts; attempt++)
      troubles = afterFailure(troubles, 'pull', trouble, { now: 100, wallTime: 5, random });
    expect(troubles.pull).toMatchObject({ attempts, since: 5 });
    expect(troubles.pull?.nextTry).toBeCloseTo(100 + seconds);
  });

  it('starts over with a higher id', () => {
    const moment = { now: 100, wallTime: 5, random: 0.5 };
    const trouble = { id: 1, code: 'pull-failed' as const, text: '' };
    const before = afterFailure({}, 'pull', trouble, moment);
    const after = afterFailure(before, 'pull', { ...trouble, id: 2 }, moment);
    expect(after.pull).toMatchObject({ attempts: 1, nextTry: 110 });
  });
});

const STOPPED = ['web: stop and remove its container'];

describe('a preview', () => {
  const shown = (d: Simulation): string[] => aimsIn(d.world()).flatMap((aim) => describeAim(aim) ?? []);
  const two = { containers_per: { server: 2 } };

  it.each<[string, (d: Simulation) => void, string[]]>([
    ['nothing where all is as wanted', () => undefined, []],
    [
      'an update',
      (d) => (d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })])),
      ['web: pull web:v2, create 1 container (id 2), and replace the one that it has'],
    ],
    [
      'a restart',
      (d) => (d.wanted = wanted([record('web', 2)])),
      ['web: pull web:v1, create 1 container (id 2), and replace the one that it has'],
    ],
    [
      'more containers, and an app that is new',
      (d) => (d.wanted = wanted([record('web', 2, two), record('db', 1, two)])),
      [
        'web: create 1 container beside those that it has (id 2)',
        'db: pull web:v1, create 2 containers (id 1)',
      ],
    ],
    [
      'an app that is not to run',
      (d) => (d.wanted = wanted([record('web', 2, { running: false })])),
      STOPPED,
    ],
    ['an app that leaves', (d) => (d.wanted = wanted([])), STOPPED],
    [
      'why an app stays as it is',
      (d) => (d.wanted = wanted([record('web', 1, { container_image: 'web:v2' })])),
      ['web: stays as it is: the content has changed, but not the id 1; waiting for a higher id'],
    ],
    [
      "a takeover from Nebula's worker",
      (d) => {
        for (const { container } of d.machine.values())
          Object.assign(container, { source: '', content: '', appId: 0 });
        Object.assign(d, { memory: emptyMemory(), session: NEW_SESSION });
      },
      ['web: pull web:v1, create 1 container (id 1), and replace the one that it has'],
    ],
  ])('shows %s, and does nothing', (_name, change, lines) => {
    const d = new Simulation();
    d.wanted = wanted([record('web', 1)]);
    d.settle(20);
    const before = d.log.length;
    change(d);
    expect(shown(d)).toEqual(lines);
    expect(d.log).toHaveLength(before);
  });

  it('shows containers that are too many', () => {
    const d = new Simulation();
    d.wanted = wanted([record('web', 1, two)]);
    d.settle(20);
    d.wanted = wanted([record('web', 2)]);
    expect(shown(d)).toEqual(['web: stop and remove 1 of its 2 containers (id 2)']);
  });
});
