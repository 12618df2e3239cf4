import type { Aim } from './judge.ts';
import type { Actual, HostPort } from './model.ts';
import { portsOfAll, portText, sharedPort } from './ports.ts';
import { type AppView, currentsOf, isOfVersion, isUp } from './view.ts';

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
    if (loser === undefined) return settled;
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
  return aim.kind === 'run' ? portsOfAll(aim.version.record, aim.version.count) : heldPorts(view);
}

/** Returns the ports that an app's current containers hold now. */
function heldPorts(view: AppView): HostPort[] {
  return currentsOf(view).flatMap(({ ports }) => ports);
}

/**
 * Keeps an app that was to stop if the one that takes over a port of its has failed and has nothing to go back to: better
 * the old one than none.
 */
function keepWhatIsTaken(app: Judged, all: readonly Judged[]): Judged {
  if (app.aim.kind !== 'stop' || currentsOf(app.view).length === 0) return app;
  const { good } = app.view.memory;
  const known = good?.record?.running === true ? portsOfAll(good.record, good.count) : [];
  const held = [...heldPorts(app.view), ...known];
  const heir = all.find(({ view, aim }) => {
    if (aim.kind !== 'stay' || aim.failed === null || (view.memory.good?.imageId ?? null) !== null)
      return false;
    const record = view.wanted?.record ?? null;
    return record !== null && sharedPort(held, portsOfAll(record, view.wanted?.count ?? 0)) !== null;
  });
  if (heir === undefined) return app;
  const text = `it keeps running, since ${heir.view.name}, which takes over its port, has failed`;
  return { ...app, aim: { kind: 'stay', obstacle: { code: 'port-conflict', text }, failed: null } };
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

/**
 * Divides the apps into those that are changed together: one that takes over a port of another, and those that have begun
 * to (`handovers`). All others are on their own.
 */
export function groupByPorts(
  judged: readonly Judged[],
  handovers: readonly (readonly string[])[],
): Judged[][] {
  const groups: Judged[][] = [];
  for (const app of judged) {
    const linked = groups.filter((group) =>
      group.some(
        (other) =>
          takesOver(app, other) ||
          takesOver(other, app) ||
          handovers.some((names) => names.includes(app.view.name) && names.includes(other.view.name)),
      ),
    );
    for (const group of linked) groups.splice(groups.indexOf(group), 1);
    groups.push([...linked.flat(), app]);
  }
  return groups;
}
