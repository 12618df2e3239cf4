import { printable } from '../../text/printable.ts';
import type { Judged } from '../plan/ports/conflicts.ts';
import { pendingSlots } from '../plan/update/prepare.ts';
import { type AppView, currentsOf } from '../plan/view.ts';
import type { Version } from '../plan/wanted/version.ts';

/** Describes what a device is going to do about an app, as one line for people; null if there is nothing to do. */
export function describeAim({ view, aim }: Judged): string | null {
  const text = sentenceOf(view, aim);
  return text === null ? null : printable(`${view.name}: ${text}`);
}

function sentenceOf(view: AppView, aim: Judged['aim']): string | null {
  if (aim.kind === 'run') return textOfRun(view, aim.version);
  if (aim.kind === 'stay') return aim.obstacle === null ? null : `stays as it is: ${aim.obstacle.text}`;
  const { length } = view.containers;
  return length === 0 ? null : `stop and remove its ${length === 1 ? 'container' : containers(length)}`;
}

function textOfRun(view: AppView, version: Version): string | null {
  const { id, record, count, change } = version;
  const has = currentsOf(view).length;
  const [missing, extra] = [pendingSlots(view, version).length, has - count];
  if (change === 'replace' || change === 'restart') {
    const made = `create ${containers(count)} (id ${id})`;
    const what =
      has === 0 ? made : `${made}, and replace ${has === 1 ? 'the one' : `the ${has}`} that it has`;
    return missing === 0 ? null : `pull ${record.container_image}, ${what}`;
  }
  if (missing > 0) return `create ${containers(missing)} beside those that it has (id ${id})`;
  return extra > 0 ? `stop and remove ${extra} of its ${containers(has)} (id ${id})` : null;
}

function containers(count: number): string {
  return count === 1 ? '1 container' : `${count} containers`;
}
