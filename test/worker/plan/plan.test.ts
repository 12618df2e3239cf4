import { describe, expect, test } from 'vitest';
import { emptyMemory } from '../../../src/worker/plan/memory.ts';
import { NEW_SESSION } from '../../../src/worker/plan/session.ts';
import { record, Simulation, wanted } from './simulation.ts';

function device(...apps: Parameters<typeof wanted>[0][number][]): Simulation {
  const simulation = new Simulation();
  simulation.wanted = wanted(apps);
  return simulation.settle();
}

describe('a device', () => {
  test('runs an app that is new to it', () => {
    const d = device(record('web', 1));
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.log).toEqual(['pull web:v1', 'create web-1.next', 'rename web-1.next web-1', 'start web-1']);
    expect(d.session.phases).toMatchObject({ web: { state: 'running', obstacle: null } });
  });

  test('stages a new version before it stops the old one', () => {
    const d = device(record('web', 1, { starting_ports: [80] }));
    d.log.length = 0;
    d.wanted = wanted([record('web', 2, { starting_ports: [80], container_image: 'web:v2' })]);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v2']);
    expect(d.log).toEqual([
      'pull web:v2',
      'create web-1.next',
      'stop web-1',
      'rename web-1 web-1.old',
      'rename web-1.next web-1',
      'start web-1',
      'remove web-1.old',
    ]);
  });

  test('is not done with a smaller number while a container that is too many is there', () => {
    const d = device(record('web', 1, { containers_per: { server: 2 } }));
    d.wanted = wanted([record('web', 2)]);
    const seen: string[] = [];
    for (let looks = 0; looks < 40 && d.names().length > 1; looks++) {
      d.settle(1);
      if (d.names().length > 1) seen.push(d.session.phases['web']?.state ?? '');
    }
    expect(d.names()).toEqual(['web-1']);
    expect(seen).not.toContain('running');
    expect(seen.length).toBeGreaterThan(0);
  });

  for (const bad of ['sick', 'crash', 'nostart'])
    test(`goes back from a version that is ${bad}, and does not try it again`, () => {
      const d = device(record('web', 1));
      d.wanted = wanted([record('web', 2, { container_image: `web:${bad}` })]);
      d.settle();
      expect(d.running()).toEqual(['web-1 web:v1']);
      expect(d.names()).toEqual(['web-1', 'web-1.failed']);
      expect(d.session.phases['web']?.state).toBe('rolled_back');
      const starts = d.starts;
      d.settle(200);
      expect(d.starts).toBe(starts);
      d.wanted = wanted([record('web', 3, { container_image: 'web:v3' })]);
      d.settle();
      expect(d.names()).toEqual(['web-1']);
      expect(d.running()).toEqual(['web-1 web:v3']);
    });

  for (const bad of ['sick', 'crash', 'nostart'])
    test(`restarts nothing when what is asked for becomes what runs again, after a version that is ${bad} was taken back`, () => {
      const d = device(record('web', 1));
      d.wanted = wanted([record('web', 2, { container_image: `web:${bad}` })]);
      d.settle();
      const [kept] = d.actual().containers.filter(({ role }) => role === 'current');
      const isMemoryLost = bad === 'sick';
      if (isMemoryLost) Object.assign(d, { memory: emptyMemory(), session: NEW_SESSION });
      if (isMemoryLost) d.settle();
      d.log.length = 0;
      d.build = 2;
      d.wanted = wanted([record('web', 3)]);
      d.settle();
      expect(d.log).toEqual(['remove web-1.failed']);
      expect(d.actual().containers.map(({ id }) => id)).toEqual([kept?.id]);
      expect(d.memory.apps['web']).toMatchObject({ good: { id: 3 }, failed: null });
      expect(d.session.phases['web']).toMatchObject({ state: 'running', obstacle: null });
      d.wanted = wanted([record('web', 4)]);
      d.settle();
      expect(d.actual().containers.map(({ imageId }) => imageId)).toEqual(['sha256:web:v1@2']);
    });

  test('restarts an app again whose last restart was taken back', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2)]);
    d.settle(20, (step) => step.do === 'start' && step.id === 2);
    expect(d.session.phases['web']?.state).toBe('rolled_back');
    d.build = 2;
    d.wanted = wanted([record('web', 3)]);
    d.settle();
    expect(d.actual().containers.map(({ imageId }) => imageId)).toEqual(['sha256:web:v1@2']);
  });

  test('starts a new version again that the engine, or somebody, stopped, and takes it back if it ends again', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    d.settle(8);
    const stop = () => {
      for (const { container } of d.machine.values())
        if (container.appId === 2) Object.assign(container, { state: 'exited', exitCode: 255, ports: [] });
    };
    expect(d.session.phases['web']?.state).toBe('checking');
    stop();
    d.settle(2);
    expect(d.running()).toEqual(['web-1 web:v2']);
    expect(d.session.phases['web']?.state).toBe('checking');
    stop();
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']?.state).toBe('rolled_back');
  });

  test('goes back from a bad version although it was restarted before it had failed', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:sick' })]);
    while (d.session.phases['web']?.state !== 'checking') d.settle(1);
    d.wanted = wanted([record('web', 3, { container_image: 'web:sick' })]);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.names()).toEqual(['web-1', 'web-1.failed']);
    expect(d.session.phases['web']?.state).toBe('rolled_back');
  });

  test('goes back over two bad versions in a row, the second of which came before the first had failed', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:crash' })]);
    while (d.session.phases['web']?.state !== 'checking') d.settle(1);
    d.wanted = wanted([record('web', 3, { container_image: 'web:sick' })]);
    d.pulling.add('web');
    d.settle(3);
    d.pulling.clear();
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.names()).toEqual(['web-1', 'web-1.failed']);
    expect(d.session.phases['web']?.state).toBe('rolled_back');
  });

  test('takes a version back that fails while a newer one cannot be pulled', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:crash' })]);
    while (d.session.phases['web']?.state !== 'checking') d.settle(1);
    d.registry = 'down';
    d.wanted = wanted([record('web', 3, { container_image: 'web:v3' })]);
    d.settle(20);
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.names()).toEqual(['web-1']);
    expect(d.session.phases['web']?.obstacle).not.toBeNull();
    d.registry = 'up';
    d.settle(600);
    expect(d.running()).toEqual(['web-1 web:v3']);
    expect(d.names()).toEqual(['web-1']);
  });

  test('starts what it goes back to at once, although healing it has to wait', () => {
    const d = device(record('web', 1));
    for (let kills = 0; kills < 3; kills++) {
      for (const { container } of d.machine.values())
        Object.assign(container, { state: 'exited', exitCode: 137 });
      while (d.running().length === 0) d.settle(1);
    }
    d.wanted = wanted([record('web', 2, { container_image: 'web:nostart' })]);
    while (!d.log.includes('rename web-1.old web-1')) d.settle(1);
    const failedAt = d.now;
    while (d.running().length === 0) d.settle(1);
    expect(d.now - failedAt).toBeLessThan(5);
    expect(d.running()).toEqual(['web-1 web:v1']);
  });

  test('starts a container at once that is killed again and again, if it ran for a minute each time', () => {
    const d = device(record('web', 1));
    for (let kills = 0; kills < 5; kills++) {
      d.now += 61;
      d.settle(1);
      for (const { container } of d.machine.values())
        Object.assign(container, { state: 'exited', exitCode: 137 });
      const killedAt = d.now;
      while (d.running().length === 0) d.settle(1);
      expect(d.now - killedAt).toBeLessThan(1);
    }
    d.settle(3);
    expect(d.session.phases['web']).toMatchObject({ state: 'running' });
  });

  test('tries a container that ends soon after each start with growing pauses, however long these are', () => {
    const d = device(record('web', 1));
    const startsAt: number[] = [];
    for (const end = d.now + 3600; d.now < end; ) {
      for (const { container } of d.machine.values())
        Object.assign(container, { state: 'exited', exitCode: 137 });
      const { starts } = d;
      d.settle(1);
      if (d.starts > starts) startsAt.push(d.now);
    }
    expect(startsAt.length).toBeLessThan(20);
  });

  test('shows remains that cannot be removed as a warning, and tries with growing pauses', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    let tries = 0;
    d.settle(200, (step) => {
      if (step.do === 'remove') tries += 1;
      return step.do === 'remove';
    });
    expect(d.running()).toEqual(['web-1 web:v2']);
    expect(d.session.phases['web']).toMatchObject({ state: 'running', obstacle: { code: 'change-failed' } });
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(12);
    d.settle(200);
    expect(d.names()).toEqual(['web-1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'running', obstacle: null });
  });

  test('fails to stop an app that leaves, and says so, while it runs', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([]);
    d.settle(20, (step) => step.do === 'stop');
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'failing', obstacle: { code: 'change-failed' } });
  });

  test('does not blame a removal that failed once for what comes after it', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    let failures = 0;
    d.settle(60, (step) => step.do === 'remove' && failures++ === 0);
    expect(d.names()).toEqual(['web-1']);
    d.wanted = wanted([]);
    d.settle(1);
    expect(d.session.phases['web']).toMatchObject({ state: 'updating', obstacle: null });
  });

  test('recreates with growing pauses what the engine says is of another image', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    d.log.length = 0;
    for (let looks = 0; looks < 60; looks++) {
      d.settle(1);
      for (const { container } of d.machine.values())
        if (container.name === 'web-1.next') container.imageId = 'sha256:other';
    }
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'kept', obstacle: { code: 'create-failed' } });
    expect(d.log.filter((step) => step.startsWith('create')).length).toBeLessThan(8);
    d.settle(200);
    expect(d.running()).toEqual(['web-1 web:v2']);
  });

  test('starts a container again that somebody paused before it was known to be good', () => {
    const d = new Simulation();
    d.wanted = wanted([record('web', 1)]);
    d.settle(6);
    expect(d.session.phases['web']?.state).toBe('checking');
    for (const { container } of d.machine.values()) container.state = 'paused';
    forget(d);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'running', obstacle: null });
  });

  test('that lost its memory in the middle of an update does not take for good what never ran', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:crash' })]);
    while (!d.names().includes('web-1.old') || d.names().includes('web-1.next')) d.settle(1);
    expect(d.running()).toEqual([]);
    d.memory = emptyMemory();
    d.session = NEW_SESSION;
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']?.state).toBe('rolled_back');
  });

  for (const bad of ['sick', 'crash', 'nostart'])
    test(`pulls a version that is ${bad} again when somebody wants it tried, and takes it back again`, () => {
      const d = device(record('web', 1));
      d.wanted = wanted([record('web', 2, { container_image: `web:${bad}` })]);
      d.settle();
      d.log.length = 0;
      d.retry('web', 2);
      d.settle();
      expect(d.log.slice(0, 3)).toEqual([`pull web:${bad}`, 'create web-1.next', 'stop web-1']);
      expect(d.running()).toEqual(['web-1 web:v1']);
      expect(d.names()).toEqual(['web-1', 'web-1.failed']);
      expect(d.session.phases['web']?.state).toBe('rolled_back');
    });

  test('tries a version again that somebody asked for although the worker was killed before it began', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:sick' })]);
    d.settle();
    d.retry('web', 2);
    d.session = NEW_SESSION;
    d.log.length = 0;
    d.settle();
    expect(d.log.slice(0, 3)).toEqual(['pull web:sick', 'create web-1.next', 'stop web-1']);
    expect(d.names()).toEqual(['web-1', 'web-1.failed']);
    d.log.length = 0;
    d.session = NEW_SESSION;
    d.settle();
    expect(d.log).toEqual([]);
  });

  test('keeps a bad version trying if there is nothing to go back to', () => {
    const d = device(record('web', 1, { container_image: 'web:crash' }));
    expect(d.session.phases['web']?.state).toBe('failing');
    expect(d.names()).toEqual(['web-1']);
  });

  test('pulls again for a restart, and takes what the tag stands for now', () => {
    const d = device(record('web', 1));
    d.build = 2;
    d.log.length = 0;
    d.wanted = wanted([record('web', 2)]);
    d.settle();
    expect(d.log).toEqual([
      'pull web:v1',
      'create web-1.next',
      'stop web-1',
      'rename web-1 web-1.old',
      'rename web-1.next web-1',
      'start web-1',
      'remove web-1.old',
    ]);
    expect([...d.machine.values()][0]?.container.imageId).toBe('sha256:web:v1@2');
  });

  test('restarts with the image that is there after three failed pulls', () => {
    const d = device(record('web', 1));
    d.registry = 'down';
    d.wanted = wanted([record('web', 2)]);
    d.settle();
    expect(d.log.filter((line) => line.startsWith('pull'))).toHaveLength(4);
    expect(d.memory.apps['web']?.good?.id).toBe(2);
    expect(d.session.stale['web']).toMatchObject({ id: 2 });
  });

  test('keeps the old version while the new one cannot be pulled, and heals it', () => {
    const d = device(record('web', 1));
    d.registry = 'down';
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    d.settle();
    for (const { container } of d.machine.values()) Object.assign(container, { state: 'exited', ports: [] });
    d.settle(2);
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'kept', obstacle: { code: 'pull-failed' } });
  });

  test('recreates a removed container without a pull', () => {
    const d = device(record('web', 1));
    d.registry = 'down';
    d.machine.clear();
    d.settle(5);
    expect(d.running()).toEqual(['web-1 web:v1']);
  });

  test('starts a container again at once that is stopped soon after it was recreated', () => {
    const d = device(record('web', 1));
    d.machine.clear();
    while (d.running().length === 0) d.settle(1);
    expect(d.session.phases['web']).toMatchObject({ state: 'updating', obstacle: null });
    for (const { container } of d.machine.values())
      Object.assign(container, { state: 'exited', exitCode: 0 });
    d.settle(1);
    expect(d.running()).toEqual(['web-1 web:v1']);
  });

  test('adds and removes containers without touching the others', () => {
    const d = device(record('web', 1, { containers_per: { server: 2 } }));
    d.log.length = 0;
    d.wanted = wanted([record('web', 2, { containers_per: { server: 3 } })]);
    d.settle();
    expect(d.log).toEqual(['create web-3.next', 'rename web-3.next web-3', 'start web-3']);
    d.log.length = 0;
    d.wanted = wanted([record('web', 3, { containers_per: { server: 1 } })]);
    d.settle();
    expect(d.log).toEqual(['stop web-2', 'stop web-3', 'remove web-2', 'remove web-3']);
  });

  test('replaces one container after another if the app asks for it', () => {
    const app = { containers_per: { server: 11 }, rolling_restart: true, container_image: 'web:checked' };
    const d = device(record('web', 1, app));
    d.settle(100);
    expect(d.running()).toHaveLength(11);
    d.wanted = wanted([record('web', 2, app)]);
    let least = 11;
    for (let round = 0; round < 200; round++) {
      d.settle(1);
      least = Math.min(least, d.running().length);
    }
    expect(least).toBe(10);
    expect(d.memory.apps['web']?.good?.id).toBe(2);
    expect(d.names()).toHaveLength(11);
  });

  test('takes all slots back if a later one fails in a rolling restart', () => {
    const app = { containers_per: { server: 3 }, rolling_restart: true };
    const d = device(record('web', 1, app));
    d.settle(60);
    d.wanted = wanted([record('web', 2, { ...app, container_image: 'web:v2' })]);
    d.settle(20, (step) => step.do === 'start' && step.name === 'web-2' && d.log.includes('start web-1'));
    d.settle(60);
    expect(d.running()).toEqual(['web-1 web:v1', 'web-2 web:v1', 'web-3 web:v1']);
  });

  test('stops an app that left the group, and one that is not to run', () => {
    const d = device(record('web', 1), record('api', 1));
    d.wanted = wanted([record('api', 2, { running: false })]);
    d.settle();
    expect(d.names()).toEqual([]);
    expect(d.session.phases).toMatchObject({ api: { state: 'stopped' } });
    d.wanted = wanted([record('api', 3)]);
    d.settle();
    expect(d.running()).toEqual(['api-1 web:v1']);
  });
});

/** Loses the memory and the session, as a worker does that was killed and whose file is gone. */
function forget(d: Simulation): void {
  Object.assign(d, { memory: emptyMemory(), session: NEW_SESSION });
}

describe('a worker that was killed', () => {
  test('goes back to what its own swap had stopped although it lost its memory', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:sick' })]);
    d.settle(3);
    expect(d.running()).toEqual([]);
    forget(d);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
  });
});

describe('a device that lost its memory while its containers were stopped', () => {
  test.each([
    ['a lower id', 4, 'ids-behind'],
    ['the same id and other content', 5, 'content-without-id'],
  ])('starts them, and does not believe %s', (_name, id, code) => {
    const d = device(record('web', 5));
    for (const { container } of d.machine.values())
      Object.assign(container, { state: 'exited', exitCode: 255, ports: [] });
    forget(d);
    d.wanted = wanted([record('web', id, { container_image: 'web:v2' })]);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']?.obstacle?.code).toBe(code);
  });

  test('does not take for good what it finds in the middle of an update', () => {
    const app = { containers_per: { server: 2 } };
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { ...app, container_image: 'web:crash' })]);
    while (!d.log.includes('start web-2')) d.settle(1);
    for (const { container } of d.machine.values())
      Object.assign(container, { state: 'exited', exitCode: 255 });
    forget(d);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
  });
});

describe('a step that fails', () => {
  test.each(['stop', 'rename', 'remove'])('waits before it is tried again if it is a %s', (kind) => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    let tries = 0;
    const end = d.now + 200;
    while (d.now < end) d.settle(1, (step) => step.do === kind && ++tries > 0);
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(8);
    expect(d.session.phases['web']?.obstacle).toMatchObject({ text: 'injected' });
    d.settle(100);
    expect(d.names()).toEqual(['web-1']);
    expect(d.running()).toEqual(['web-1 web:v2']);
  });

  test('waits before it is tried again if one container of a version cannot start and the other can', () => {
    const app = { containers_per: { server: 2 } };
    const d = device(record('web', 1, app));
    d.wanted = wanted([record('web', 2, { ...app, container_image: 'web:v2' })]);
    let tries = 0;
    const end = d.now + 200;
    while (d.now < end)
      d.settle(
        1,
        (step) =>
          step.do === 'start' && step.id === 2 && step.name === 'web-1' && ++tries > 0 && 'port-conflict',
      );
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(8);
    expect(d.running()).toEqual(['web-1 web:v1', 'web-2 web:v1']);
    d.settle(100);
    expect(d.running()).toEqual(['web-1 web:v2', 'web-2 web:v2']);
  });

  test('is tried again later without a higher id if the engine did not answer when a version was to start', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    d.settle(12, (step) => step.do === 'start' && step.id === 2 && 'engine-unavailable');
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.names()).not.toContain('web-1.failed');
    expect(d.memory.apps['web']?.failed).toMatchObject({ code: 'engine-unavailable' });
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v2']);
  });

  test('waits before it is tried again if the old version does not start while the new one is staged', () => {
    const d = device(record('web', 1));
    d.registry = 'down';
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    for (const { container } of d.machine.values()) Object.assign(container, { state: 'exited', ports: [] });
    let tries = 0;
    const end = d.now + 200;
    while (d.now < end) d.settle(1, (step) => step.do === 'start' && ++tries > 0);
    expect(tries).toBeLessThan(8);
  });

  test('waits before it is tried again if the old version cannot be recreated', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:sick' })]);
    d.settle();
    for (const [id, { container }] of d.machine) if (container.role === 'current') d.machine.delete(id);
    let tries = 0;
    const end = d.now + 200;
    while (d.now < end) d.settle(1, (step) => step.do === 'create' && ++tries > 0);
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(8);
  });
});

describe('a container that a crash of the engine has left stuck', () => {
  const crash = (d: Simulation) => {
    for (const one of d.machine.values()) {
      Object.assign(one.container, { state: 'exited', exitCode: 255, ports: [] });
      one.isStuck = true;
    }
    d.log.length = 0;
  };
  const recreation = [
    'start web-1',
    'remove web-1',
    'create web-1.next',
    'rename web-1.next web-1',
    'start web-1',
  ];

  test('is recreated from its image, once, after the pause of a failed try', () => {
    const d = device(record('web', 1));
    d.build = 2;
    crash(d);
    d.settle(5);
    expect(d.log).toEqual(recreation.slice(0, 4));
    expect(d.session.phases['web']).toMatchObject({
      state: 'failing',
      obstacle: { code: 'crashed', attempts: 1 },
    });
    d.settle();
    expect(d.log).toEqual(recreation);
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.stuck).toEqual([]);
  });

  test('is recreated while its version is new, which is not taken back because of it', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    while (d.session.phases['web']?.state !== 'checking') d.settle(1);
    for (const one of d.machine.values()) one.isStuck = one.container.appId === 2;
    for (const { container } of d.machine.values())
      if (container.appId === 2) Object.assign(container, { state: 'exited', exitCode: 255, ports: [] });
    d.log.length = 0;
    d.settle();
    expect(d.log).toEqual([...recreation, 'remove web-1.old']);
    expect(d.running()).toEqual(['web-1 web:v2']);
    expect(d.memory.apps['web']?.failed).toBeNull();
  });

  test('is kept, and tried again, if nobody knows what it was made from', () => {
    const d = device(record('web', 1));
    d.memory = emptyMemory();
    d.wanted = wanted([record('web', 0)]);
    crash(d);
    d.settle();
    expect(d.names()).toEqual(['web-1']);
    for (const one of d.machine.values()) one.isStuck = false;
    d.settle(200);
    expect(d.running()).toEqual(['web-1 web:v1']);
  });
});

describe('a container that was kept for its log', () => {
  test('is stopped before it is removed if somebody started it', () => {
    const d = device(record('web', 1));
    d.wanted = wanted([record('web', 2, { container_image: 'web:sick' })]);
    d.settle();
    for (const { container } of d.machine.values())
      if (container.role === 'failed') container.state = 'running';
    d.log.length = 0;
    d.wanted = wanted([record('web', 3, { container_image: 'web:crash' })]);
    d.settle();
    expect(d.log.filter((line) => line.endsWith('web-1.failed'))).toEqual([
      'stop web-1.failed',
      'remove web-1.failed',
      'rename web-1 web-1.failed',
    ]);
  });

  test('gives its port back to the good version if somebody started it', () => {
    const app = { starting_ports: [80] };
    const d = device(record('web', 1, app));
    d.wanted = wanted([record('web', 2, { ...app, container_image: 'web:sick' })]);
    d.settle();
    for (const { container } of d.machine.values())
      if (container.role === 'current') Object.assign(container, { state: 'exited', ports: [] });
    for (const { container } of d.machine.values())
      if (container.role === 'failed') d.startByHand(container.id);
    expect(d.running()).toEqual(['web-1.failed web:sick']);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.names()).toEqual(['web-1', 'web-1.failed']);
  });

  test('gives its port to the next version if somebody started it', () => {
    const app = { starting_ports: [80] };
    const d = device(record('web', 1, app));
    d.wanted = wanted([record('web', 2, { ...app, container_image: 'web:sick' })]);
    d.settle();
    for (const { container } of d.machine.values()) {
      const isFailed = container.role === 'failed';
      const ports = isFailed ? [{ address: null, port: 80, protocol: 'tcp' }] : [];
      Object.assign(container, { state: isFailed ? 'running' : 'exited', ports });
    }
    d.wanted = wanted([record('web', 3, { ...app, container_image: 'web:v3' })]);
    d.settle();
    expect(d.names()).toEqual(['web-1']);
    expect(d.running()).toEqual(['web-1 web:v3']);
  });
});

describe('a container of somebody else', () => {
  const port = { starting_ports: [80] };
  const v2 = { ...port, container_image: 'web:v2' };
  test.each([
    ['a new version', wanted([record('web', 2, v2)])],
    ['another app on its port', wanted([record('new', 1, v2)])],
  ])('that has the name of an old container stops nothing for %s, until it is gone', (_, next) => {
    const d = device(record('web', 1, port));
    d.foreign.push({ name: 'web-1.old', imageId: 'sha256:other', ports: [] });
    d.wanted = next;
    const starts = d.starts;
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'kept', obstacle: { code: 'name-taken' } });
    expect(d.starts).toBe(starts);
    d.foreign = [];
    d.settle();
    expect(d.running()).toEqual([`${next.apps[0]?.name}-1 web:v2`]);
  });
});

describe('a container that somebody renamed', () => {
  test('is not touched any more, and one like it takes its place unless it holds the port', () => {
    const d = device(record('web', 1));
    for (const { container } of d.machine.values()) container.name = 'mine';
    d.settle();
    expect(d.running()).toEqual(['mine web:v1', 'web-1 web:v1']);
    d.wanted = wanted([]);
    d.settle();
    expect(d.names()).toEqual(['mine']);
  });

  test('keeps its port', () => {
    const d = device(record('web', 1, { starting_ports: [80] }));
    for (const { container } of d.machine.values()) container.name = 'mine';
    d.settle();
    expect(d.running()).toEqual(['mine web:v1']);
    expect(d.session.phases['web']?.obstacle?.text).toBe('port 80 is taken by the container mine');
  });
});

describe('a port', () => {
  test('is handed over from an app that leaves only when the new one is staged', () => {
    const d = device(record('old', 1, { starting_ports: [80] }));
    d.log.length = 0;
    d.wanted = wanted([record('new', 1, { starting_ports: [80], container_image: 'web:v2' })]);
    d.settle();
    expect(d.running()).toEqual(['new-1 web:v2']);
    expect(d.names()).toEqual(['new-1']);
    expect(d.log.indexOf('create new-1.next')).toBeLessThan(d.log.indexOf('stop old-1'));
    expect(d.log.indexOf('stop old-1')).toBeLessThan(d.log.indexOf('start new-1'));
  });

  test('is handed over within an app from a container that is too many', () => {
    const three = { starting_ports: [80], containers_per: { server: 3 } };
    const d = device(record('web', 1, three));
    d.wanted = wanted([record('web', 2, { starting_ports: [82], container_image: 'web:sick' })]);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1', 'web-2 web:v1', 'web-3 web:v1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'rolled_back', obstacle: { code: 'unhealthy' } });
    d.wanted = wanted([record('web', 3, { starting_ports: [82] })]);
    d.settle();
    expect(d.names()).toEqual(['web-1']);
    expect(d.session.phases['web']).toMatchObject({ state: 'running', obstacle: null });
  });

  test('goes back to the app that left if the new one fails', () => {
    const d = device(record('old', 1, { starting_ports: [80] }));
    d.wanted = wanted([record('new', 1, { starting_ports: [80], container_image: 'web:crash' })]);
    d.settle(100);
    expect(d.running()).toEqual(['old-1 web:v1']);
    expect(d.session.phases).toMatchObject({ old: { state: 'kept' }, new: { state: 'failing' } });
    d.wanted = wanted([record('new', 2, { starting_ports: [80], container_image: 'web:v2' })]);
    d.settle();
    expect(d.names()).toEqual(['new-1']);
    expect(d.running()).toEqual(['new-1 web:v2']);
  });

  test('is exchanged between two apps', () => {
    const d = device(record('a', 1, { starting_ports: [80] }), record('b', 1, { starting_ports: [81] }));
    d.wanted = wanted([record('a', 2, { starting_ports: [81] }), record('b', 2, { starting_ports: [80] })]);
    d.settle();
    expect(d.running()).toEqual(['a-1 web:v1', 'b-1 web:v1']);
    expect(d.memory.apps).toMatchObject({ a: { good: { id: 2 } }, b: { good: { id: 2 } } });
  });

  test('stays with the side of an exchange that is good if the other one fails, which is tried on', () => {
    const d = device(record('a', 1, { starting_ports: [80] }), record('b', 1, { starting_ports: [81] }));
    d.wanted = wanted([
      record('a', 2, { starting_ports: [81], container_image: 'web:crash' }),
      record('b', 2, { starting_ports: [80] }),
    ]);
    d.settle(100);
    expect(d.running()).toEqual(['a-1 web:crash', 'b-1 web:v1']);
    expect(d.session.phases).toMatchObject({
      a: { state: 'failing', obstacle: { code: 'crashed' } },
      b: { state: 'running', obstacle: null },
    });
    d.wanted = wanted([record('a', 3, { starting_ports: [81] }), record('b', 2, { starting_ports: [80] })]);
    d.settle();
    expect(d.running()).toEqual(['a-1 web:v1', 'b-1 web:v1']);
  });

  test('is kept for the app that leaves until the new one is good, although the worker is killed meanwhile', () => {
    const d = device(record('old', 1, { starting_ports: [80] }));
    d.wanted = wanted([record('new', 1, { starting_ports: [80], container_image: 'web:crash' })]);
    while (d.session.phases['new']?.state !== 'checking') d.settle(1);
    expect(d.names()).toEqual(['new-1', 'old-1.old']);
    d.session = NEW_SESSION;
    d.settle(100);
    expect(d.running()).toEqual(['old-1 web:v1']);
  });

  test('that two apps want stays with the one that runs', () => {
    const d = device(record('b', 1, { starting_ports: [80] }));
    d.wanted = wanted([record('a', 1, { starting_ports: [80] }), record('b', 1, { starting_ports: [80] })]);
    d.settle();
    expect(d.running()).toEqual(['b-1 web:v1']);
    expect(d.session.phases).toMatchObject({
      a: { obstacle: { code: 'port-conflict' } },
      b: { state: 'running' },
    });
  });
});

describe('restart', () => {
  const job = { container_image: 'web:job' };

  for (const restart of ['no', 'on-failure'])
    test(`${restart} lets a container end that ends well, also if the worker loses its memory`, () => {
      const d = device(record('web', 1, { ...job, restart }));
      expect(d.session.phases['web']).toMatchObject({ state: 'running', obstacle: null });
      expect([d.running(), d.names(), d.starts]).toEqual([[], ['web-1'], 1]);
      forget(d);
      d.settle(60);
      expect(d.starts).toBe(1);
      expect(d.memory.apps['web']?.good?.id).toBe(1);
    });

  test('starts what ends well by default', () => {
    const d = device(record('web', 1, job));
    d.settle(30);
    expect(d.starts).toBeGreaterThan(1);
  });

  test('no leaves what failed, and says so', () => {
    const d = device(record('web', 1, { restart: 'no' }));
    for (const { container } of d.machine.values())
      Object.assign(container, { state: 'exited', exitCode: 3, ports: [] });
    d.settle(30);
    expect(d.starts).toBe(1);
    expect(d.session.phases['web']).toMatchObject({ state: 'failing', obstacle: { code: 'crashed' } });
    expect(d.session.phases['web']?.obstacle?.text).toContain('exit code 3');
  });

  test('no leaves a job that has run, although the memory is lost and the manager away', () => {
    const d = device(record('web', 1, { ...job, restart: 'no' }));
    d.settle(30);
    expect(d.starts).toBe(1);
    d.memory = emptyMemory();
    d.session = NEW_SESSION;
    d.wanted = null;
    d.settle(30);
    expect(d.starts).toBe(1);
  });

  test('no leaves what is unhealthy', () => {
    const d = device(record('web', 1, { restart: 'no' }));
    for (const { container } of d.machine.values()) container.health = 'unhealthy';
    d.log.length = 0;
    d.settle(30);
    expect(d.log).toEqual([]);
    expect(d.session.phases['web']).toMatchObject({ state: 'failing', obstacle: { code: 'unhealthy' } });
  });

  test('on-failure starts again what failed', () => {
    const d = device(record('web', 1, { restart: 'on-failure' }));
    for (const { container } of d.machine.values())
      Object.assign(container, { state: 'exited', exitCode: 3, ports: [] });
    d.settle(5);
    expect(d.running()).toEqual(['web-1 web:v1']);
  });

  test('on-failure:N leaves what the engine has started N times', () => {
    const d = device(record('web', 1, { restart: 'on-failure:2' }));
    for (const { container } of d.machine.values())
      Object.assign(container, { state: 'exited', exitCode: 3, restarts: 2, ports: [] });
    d.settle(30);
    expect(d.starts).toBe(1);
    expect(d.session.phases['web']).toMatchObject({ state: 'failing', obstacle: { code: 'crashed' } });
  });

  test('no takes a version back that failed, and starts what the worker itself had stopped', () => {
    const d = device(record('web', 1, { restart: 'no' }));
    d.wanted = wanted([record('web', 2, { restart: 'no', container_image: 'web:crash' })]);
    d.settle();
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']?.state).toBe('rolled_back');
  });

  test('on-failure: what was put aside and an engine has started again is stopped', () => {
    const d = device(record('web', 1, { restart: 'on-failure' }));
    d.wanted = wanted([record('web', 2, { restart: 'on-failure', container_image: 'web:crash' })]);
    d.settle();
    expect(d.names()).toEqual(['web-1', 'web-1.failed']);
    for (const { container } of d.machine.values()) container.state = 'running';
    d.settle(20);
    expect(d.running()).toEqual(['web-1 web:v1']);
    expect(d.session.phases['web']?.state).toBe('rolled_back');
  });
});

describe('pull_policy: missing', () => {
  const app = { pull_policy: 'missing' as const };

  test('uses the image that is there for another version, but a restart pulls', () => {
    const d = device(record('web', 1, app));
    expect(d.log.filter((line) => line.startsWith('pull'))).toHaveLength(1);
    d.log.length = 0;
    d.wanted = wanted([record('web', 2, { ...app, env_vars: { A: '1' } })]);
    d.settle();
    expect(d.log.filter((line) => line.startsWith('pull'))).toEqual([]);
    expect(d.log).toContain('create web-1.next');
    d.wanted = wanted([record('web', 3, { ...app, env_vars: { A: '1' } })]);
    d.settle();
    expect(d.log.filter((line) => line.startsWith('pull'))).toEqual(['pull web:v1']);
  });

  test('changes no container if it alone changes', () => {
    const d = device(record('web', 1));
    d.log.length = 0;
    d.wanted = wanted([record('web', 2, app)]);
    d.settle();
    expect(d.log).toEqual([]);
    expect(d.memory.apps['web']?.good?.id).toBe(2);
  });
});

test('stop_grace_period is the time that a container has to stop, before and after it changes', () => {
  const d = device(record('web', 1, { stop_grace_period: 90 }));
  d.wanted = wanted([record('web', 2, { stop_grace_period: 5 })]);
  const graces: number[] = [];
  d.settle(60, (step) => {
    if (step.do === 'stop') graces.push(step.grace);
    return false;
  });
  d.wanted = wanted([record('web', 3)]);
  d.settle(60, (step) => {
    if (step.do === 'stop') graces.push(step.grace);
    return false;
  });
  expect(graces).toEqual([90, 5]);
});
