import { describe, expect, it } from 'vitest';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { containersOf, runningIds, watch } from '../support/engine/world.ts';
import { ask } from '../support/real-engine.ts';

const ROLLING = 11;

describe('a worker on a real engine', () => {
  const suite = engineSuite();
  const app = (tag: string, port: number, more: object = {}): object => ({
    container_image: suite().registry.reference(tag),
    starting_ports: [{ [port]: '80' }],
    ...more,
  });

  async function start(apps: Readonly<Record<string, object>>) {
    const fleet = await startFleet();
    await fleet.apply(apps);
    const worker = await startWorker({ socket: suite().real.socket, manager: fleet.manager.address });
    return { fleet, worker };
  }

  it('runs the first of two apps that want one port, and the other one once that leaves', async () => {
    const { real, registry } = suite();
    const { fleet, worker } = await start({ one: app('v1', 28080), two: app('v2', 28080) });
    await worker.until(runs('one', registry.reference('v1')));
    const { apps } = await worker.until((status) => status.apps.some(({ error }) => error !== null));
    expect(apps).toMatchObject([
      { name: 'one', state: 'running' },
      { name: 'two', error: { code: 'port-conflict', text: 'port 28080 is taken by the app one' } },
    ]);
    const history = await watch(real);
    await fleet.apply({ two: app('v2', 28080) });
    await worker.until(runs('two', registry.reference('v2')));
    expect(await ask(28080)).toBe('v2');
    const [one, two] = ['die one-1', 'start two-1'].map((line) => history.lines().indexOf(line));
    expect(one).toBeLessThan(two ?? -1);
    await expect.poll(async () => [...(await containersOf(real)).keys()]).toEqual(['two-1']);
  });

  it('stops an app that leaves only once the one that takes its port is staged', async () => {
    const { real, registry } = suite();
    const { fleet, worker } = await start({ one: app('v1', 28080) });
    await worker.until(runs('one', registry.reference('v1')));
    const history = await watch(real);
    await fleet.apply({ two: app('v2', 28080) });
    await worker.until(runs('two', registry.reference('v2')));
    await expect.poll(async () => [...(await containersOf(real)).keys()]).toEqual(['two-1']);
    const lines = history.lines().map((line) => line.replace('.next.joining', '.next'));
    expect(lines.filter((line) => !line.startsWith('destroy'))).toEqual([
      'create two-1.next',
      'die one-1',
      'start two-1',
    ]);
  });

  it.each(['sick', 'missing'])(
    'keeps an app that leaves, or brings it back, if the one that takes its port is %s',
    async (tag) => {
      const { real, registry } = suite();
      const { fleet, worker } = await start({ one: app('v1', 28080) });
      await worker.until(runs('one', registry.reference('v1')));
      const { 'one-1': id } = await runningIds(real);
      await fleet.apply({ two: app(tag, 28080) });
      const isBack = (name: string): boolean => name === 'one';
      await worker.until(({ apps }) =>
        apps.some(({ name, error }) => name === 'two' && error !== null && error.code !== 'port-conflict'),
      );
      await worker.until(({ apps }) => apps.some(({ name, running }) => isBack(name) && running === 1));
      await expect.poll(() => runningIds(real)).toEqual({ 'one-1': id });
      expect(await ask(28080)).toBe('v1');
      await fleet.apply({ two: app('v2', 28080) });
      await worker.until(runs('two', registry.reference('v2')));
      await expect.poll(async () => [...(await containersOf(real)).keys()]).toEqual(['two-1']);
    },
  );

  it('exchanges the ports of two apps: both stop before one starts', async () => {
    const { real, registry } = suite();
    const { fleet, worker } = await start({ one: app('v1', 28080), two: app('v2', 28081) });
    await worker.until(runs('one', registry.reference('v1')));
    await worker.until(runs('two', registry.reference('v2')));
    const history = await watch(real);
    await fleet.apply({ one: app('v1', 28081), two: app('v2', 28080) });
    await expect.poll(() => ask(28080)).toBe('v2');
    await expect.poll(() => ask(28081)).toBe('v1');
    await expect.poll(async () => [...(await containersOf(real)).keys()]).toEqual(['one-1', 'two-1']);
    const kinds = history.lines().map((line) => line.split(' ')[0]);
    expect(kinds).toEqual([
      ...['create', 'create', 'die', 'die', 'start', 'start'],
      ...['destroy', 'destroy'],
    ]);
  });

  it('keeps the good side of an exchange of ports if the other one fails, which is tried on', async () => {
    const { real, registry } = suite();
    const { fleet, worker } = await start({ one: app('v1', 28080), two: app('v2', 28081) });
    await worker.until(runs('one', registry.reference('v1')));
    await worker.until(runs('two', registry.reference('v2')));
    await fleet.apply({ one: app('sick', 28081), two: app('v2', 28080) });
    await worker.until(({ apps }) =>
      apps.some(
        ({ name, state, error }) => name === 'one' && state === 'failing' && error?.code === 'unhealthy',
      ),
    );
    await expect.poll(() => ask(28080)).toBe('v2');
    await fleet.apply({ one: app('v3', 28081), two: app('v2', 28080) });
    await worker.until(runs('one', registry.reference('v3')));
    await expect.poll(() => ask(28081)).toBe('v3');
    expect(await ask(28080)).toBe('v2');
    await expect.poll(async () => [...(await containersOf(real)).keys()]).toEqual(['one-1', 'two-1']);
  });

  it(`replaces ${ROLLING} containers one by one, so that ${ROLLING - 1} serve at any time`, async () => {
    const { registry } = suite();
    const many = (tag: string): object =>
      app(tag, 28080, { containers_per: { server: ROLLING }, rolling_restart: true });
    const { fleet, worker } = await start({ web: many('v1') });
    const isAt = (tag: string) => (status: Parameters<ReturnType<typeof runs>>[0]) =>
      runs('web', registry.reference(tag))(status) && status.apps[0]?.running === ROLLING;
    await worker.until(isAt('v1'));
    const ports = Array.from({ length: ROLLING }, (_, index) => 28080 + index);
    let least = ROLLING;
    let looks = 0;
    let isOver = false;
    const looking = (async () => {
      for (; !isOver; looks++) {
        const answers = await Promise.all(ports.map(ask));
        least = Math.min(least, answers.filter((answer) => answer !== null).length);
      }
    })();
    await fleet.apply({ web: many('v2') });
    await worker.until(isAt('v2')).finally(() => {
      isOver = true;
    });
    await looking;
    expect(await Promise.all(ports.map(ask))).toEqual(ports.map(() => 'v2'));
    expect(looks).toBeGreaterThan(ROLLING);
    expect(least).toBe(ROLLING - 1);
  });
});
