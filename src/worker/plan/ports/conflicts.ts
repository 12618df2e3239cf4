import type { Actual, HostPort } from '../model.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion, isUp } from '../view.ts';
import type { Aim } from '../wanted/judge.ts';
import { portsOfAll, portText, sharedPort } from './ports.ts';

/** An app, and what is to become of it. */
export interface Judged {
  view: AppView;
  aim: Aim;
}

/**
 * Lets an app stay as it is if it would take a port that another one keeps: of two wanted apps the one that runs keeps it,
 * else the first on the list. Repeated until nothing changes, since an app that stays keeps the ports that it has.
 */
export function settlePorts(judged: readonly Judged[], actual: Actual): Judged[] {
  let settled = judged.map((app) => keepWhatIsTaken(app, judged));
  for (;;) {
    const index = settled.findIndex((app) => rivalOf(app, settled, actual) !== null);
    const loser = settled[index];
    if (loser === undefined) return settled.map((app) => withHeir(app, settled));
    const text = rivalOf(loser, settled, actual) ?? '';
    const aim: Aim = { kind: 'stay', obstacle: { code: 'port-conflict', text }, failed: null };
    settled = settled.with(index, { ...loser, aim });
  }
}

/** Returns the reason why an app cannot have its ports; null if it can, or if it does not want any. */
function rivalOf({ view, aim }: Judged, all: readonly Judged[], actual: Actual): string | null {
  if (aim.kind !== 'run') return null;
  const ports = portsOfAll(aim.version.record, aim.version.count);
  for (const { name, ports: taken } of actual.foreign) {
    const port = sharedPort(ports, taken);
    if (port !== null) return `port ${portText(port)} is taken by the container ${name}`;
  }
  const place = all.findIndex((other) => other.view === view);
  for (const [index, other] of all.entries()) {
    if (index === place) continue;
    const port = sharedPort(ports, keptPorts(other));
    if (port === null || (other.aim.kind === 'run' && comesFirst(view, other.view, port, place < index)))
      continue;
    return `port ${portText(port)} is taken by the app ${other.view.name}`;
  }
  return null;
}

/** Whether an app keeps a port that another one wants, too. */
function comesFirst(view: AppView, other: AppView, port: HostPort, isListedFirst: boolean): boolean {
  const [has, otherHas] = [view, other].map((app) => sharedPort([port], heldPorts(app)) !== null);
  return has === otherHas ? isListedFirst : has === true;
}

/** Returns the ports that an app holds once its aim is reached. */
function keptPorts({ view, aim }: Judged): HostPort[] {
  if (aim.kind === 'stop') return [];
  return aim.kind === 'run' ? portsOfAll(aim.version.record, aim.version.count) : ownPorts(view);
}

/** Returns the ports that the current containers of an app hold now, and those of its good version, which may be stopped. */
function ownPorts(view: AppView): HostPort[] {
  const { good } = view.memory;
  const known = good?.record?.running === true ? portsOfAll(good.record, good.count) : [];
  return [...heldPorts(view), ...known];
}

/** Returns the ports that an app's current containers hold now. */
function heldPorts(view: AppView): HostPort[] {
  return currentsOf(view).flatMap(({ ports }) => ports);
}

/** Keeps an app that was to stop, or has it back, if the one that takes over a port of its has failed: better that than none. */
function keepWhatIsTaken(app: Judged, all: readonly Judged[]): Judged {
  const heir = heirOf(app, all);
  if (heir?.aim.kind !== 'stay') return app;
  const text = `it keeps running, since ${heir.view.name}, which takes over its port, has failed`;
  return { ...app, aim: { kind: 'stay', obstacle: { code: 'port-conflict', text }, failed: null } };
}

/** Says which app takes over a port of one that is to stop: until that is known to be good, this one can come back. */
function withHeir(app: Judged, all: readonly Judged[]): Judged {
  const heir = heirOf(app, all);
  return heir?.aim.kind === 'run' ? { ...app, aim: { kind: 'stop', heir: heir.view.name } } : app;
}

function heirOf({ view, aim }: Judged, all: readonly Judged[]): Judged | undefined {
  if (aim.kind !== 'stop' || view.containers.length === 0) return undefined;
  const held = ownPorts(view);
  return all.find((other) => sharedPort(held, portsToProve(other)) !== null);
}

/** Returns the ports that an app takes with a version that is not known to be good, or that has failed. */
function portsToProve({ view, aim }: Judged): HostPort[] {
  if (aim.kind === 'run' && !isKnownGood(view, aim.version))
    return portsOfAll(aim.version.record, aim.version.count);
  if (aim.kind !== 'stay' || aim.failed === null) return [];
  const { record = null, count = 0 } = view.wanted ?? {};
  return record === null ? [] : portsOfAll(record, count);
}

/** Returns the ports that an app holds now and is to give up. */
function portsToGiveUp({ view, aim }: Judged): HostPort[] {
  if (aim.kind === 'stay') return [];
  const leaving = currentsOf(view).filter(
    (current) =>
      isUp(current) &&
      (aim.kind === 'stop' || current.slot > aim.version.count || !isOfVersion(current, aim.version)),
  );
  return leaving.flatMap(({ ports }) => ports);
}

/** Whether an app can only begin once the other one has given up a port. */
function takesOver({ aim }: Judged, other: Judged): boolean {
  if (aim.kind !== 'run') return false;
  return sharedPort(portsOfAll(aim.version.record, aim.version.count), portsToGiveUp(other)) !== null;
}

/** Divides the apps into those that give up ports to one another, and wait for each other until all is staged. */
export function groupByPorts(judged: readonly Judged[]): Judged[][] {
  const groups: Judged[][] = [];
  for (const app of judged) {
    const linked = groups.filter((group) =>
      group.some((other) => takesOver(app, other) || takesOver(other, app)),
    );
    for (const group of linked) groups.splice(groups.indexOf(group), 1);
    groups.push([...linked.flat(), app]);
  }
  return groups;
}
