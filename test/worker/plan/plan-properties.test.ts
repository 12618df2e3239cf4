import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Step } from '../../../src/worker/plan/model.ts';
import { portsOfAll, sharedPort } from '../../../src/worker/plan/ports/ports.ts';
import { type App, BAD, GOOD, type History, histories, recordOf, Watched } from './history.ts';

const RUNS = 40;

/** A device after a history, still with what that left behind. */
function deviceAfter(history: History): Watched {
  const watched = new Watched();
  watched.furnish(history);
  for (const event of history.events) watched.happen(event);
  return watched;
}

const isGood = ({ tag }: App): boolean => (GOOD as readonly string[]).includes(tag);

/** Why an app need not be as wanted: it cannot have its ports or names; null if it can. */
function excuse(watched: Watched, name: string): string | null {
  const { device, wantedApps } = watched;
  const obstacle = device.session.phases[name]?.obstacle;
  const its = wantedApps.find(([other]) => other === name)?.[1];
  if (its === undefined || obstacle == null) return null;
  if (obstacle.code === 'name-taken')
    return device
      .actual()
      .foreign.some((one) => one.name.startsWith(`${name}-`) || obstacle.text.endsWith(` ${one.name}`))
      ? 'name'
      : null;
  if (obstacle.code !== 'port-conflict') return null;
  const partner = /^it waits for (\w+), with/.exec(obstacle.text)?.[1];
  if (partner !== undefined) return excuse(watched, partner);
  if (!its.running && device.session.phases[name]?.state === 'kept') return 'port';
  const ports = portsOfAll(recordOf(name, 0, its), its.count);
  const others = [
    ...device.actual().foreign.flatMap((one) => one.ports),
    ...wantedApps.flatMap(([other, app]) =>
      other === name || !app.running ? [] : portsOfAll(recordOf(other, 0, app), app.count),
    ),
    ...device.ours().flatMap((container) => (container.app === name ? [] : container.ports)),
  ];
  return sharedPort(ports, others) === null ? null : 'port';
}

/** The running containers that a good app should have, as the device shows them. */
function expected([name, { tag, count, running }]: [string, App]): string[] {
  return running ? Array.from({ length: count }, (_, index) => `${name}-${index + 1} web:${tag}`) : [];
}

/** All containers of an app: those that run with their images, and the names of the others. */
function containersOf({ device }: Watched, app: string): string[] {
  return device
    .ours()
    .flatMap(({ app: owner, name, image, state }) =>
      owner === app ? [state === 'running' ? `${name} ${image}` : name] : [],
    )
    .sort();
}

/** The apps that cannot be as wanted. */
function heldApps(watched: Watched): Set<string> {
  return new Set(watched.wantedApps.flatMap(([name]) => (excuse(watched, name) === null ? [] : [name])));
}

/** The containers of apps that nobody wants, but for those that are kept because of a port. */
function orphansOf({ device, wantedApps }: Watched): string[] {
  const known = new Set(wantedApps.map(([name]) => name));
  return device
    .ours()
    .filter(
      ({ app }) => !known.has(app) && !['kept', 'failing'].includes(device.session.phases[app]?.state ?? ''),
    )
    .map(({ name }) => name);
}

/** Checks that apps have exactly their containers, if nothing hinders them. */
function checkApps(watched: Watched, held: ReadonlySet<string>): void {
  for (const [name, its] of watched.wantedApps) {
    if (held.has(name) || (its.running && !isGood(its))) continue;
    expect(containersOf(watched, name)).toEqual(expected([name, its]));
    const state = its.running ? 'running' : 'stopped';
    expect(watched.device.session.phases[name]).toMatchObject({ state, obstacle: null });
  }
}

describe('the planner', () => {
  test('converges from any state, whatever fails or dies on the way', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const watched = deviceAfter(history);
        const { device } = watched;
        watched.raise();
        watched.converge();
        const before = structuredClone(device.memory);
        const late = watched.converge();
        expect(watched.problems).toEqual([]);
        const held = heldApps(watched);
        checkApps(watched, held);
        const bad = new Set(watched.wantedApps.flatMap(([name, its]) => (isGood(its) ? [] : [name])));
        // What is kept although nobody wants it, because nothing takes over its port, is healed as long as it is unwell.
        const isHealing = ({ app, do: act }: Step): boolean =>
          !watched.wantedApps.some(([name]) => name === app) && (act === 'start' || act === 'restart');
        const others = late.filter((step) => !bad.has(step.app) && !held.has(step.app));
        expect(others.filter((step) => !isHealing(step))).toEqual([]);
        if (held.size + bad.size === 0) expect(device.memory).toEqual(before);
        expect(orphansOf(watched)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  }, 120_000);

  test('leaves the version that was good running when a bad one is asked for, whatever fails or dies on the way', () => {
    fc.assert(
      fc.property(histories, fc.constantFrom(...BAD), fc.boolean(), (history, tag, isLost) => {
        const watched = deviceAfter({ ...history, foreign: [] });
        const { device } = watched;
        watched.raise((app) => ({ ...app, tag: 'v1', running: true, port: null }));
        watched.converge();
        const good = device.running();
        watched.raise((app) => ({ ...app, tag }));
        for (const event of history.events)
          if (event.kind === 'rounds' || (event.kind === 'dies' && isLost)) watched.happen(event);
        watched.converge();
        expect(watched.problems).toEqual([]);
        expect(device.running()).toEqual(good);
        const names = device.ours().map(({ name }) => name);
        const others = names.filter((name) => !good.some((line) => line.startsWith(`${name} `)));
        expect(others.filter((name) => !name.endsWith('.failed'))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  }, 120_000);
});
