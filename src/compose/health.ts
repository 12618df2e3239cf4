import type { AppDraft } from './draft.ts';
import type { MapTree, Tree } from './tree.ts';
import { secondsOf } from './units.ts';
import { booleanOf, noteOthers, numberOf, textOf, textOfScalar, textsOf, valueAt } from './values.ts';

const KNOWN = ['test', 'interval', 'timeout', 'retries', 'start_period', 'disable'];
const ADVICE = { start_interval: 'has no counterpart: `interval` counts from the start' };

/** Reads `healthcheck`. A text as the test is a command of a shell; `disable` is the test NONE. */
export function readHealthcheck(tree: Tree, draft: AppDraft): void {
  if (tree.type !== 'map') {
    draft.refuse('healthcheck', tree, 'must be a map');
    return;
  }
  noteOthers(tree, 'healthcheck', draft, KNOWN, ADVICE);
  const disable = valueAt(tree, 'disable');
  if (disable !== undefined && booleanOf(disable, 'healthcheck.disable', draft) === true) {
    draft.set('healthcheck', { test: ['NONE'] }, tree);
    return;
  }
  const test = valueAt(tree, 'test');
  if (test === undefined) {
    draft.leaveOut('healthcheck', tree, 'has no test: write the test of the image here, too');
    return;
  }
  const check: Record<string, unknown> = { test: testOf(test, draft) };
  for (const name of ['interval', 'timeout', 'start_period']) setDuration(check, name, tree, draft);
  const retries = valueAt(tree, 'retries');
  const number = retries === undefined ? 0 : numberOf(retries, 'healthcheck.retries', draft);
  if (number !== 0) check['retries'] = number;
  draft.set('healthcheck', check, tree);
}

function testOf(tree: Tree, draft: AppDraft): string | readonly string[] {
  if (tree.type !== 'scalar') return textsOf(tree, 'healthcheck.test', draft);
  const text = textOfScalar(tree.value);
  return text === 'NONE' ? ['NONE'] : text;
}

/** Sets a duration of a check. For the engine, 0 is its default. */
function setDuration(check: Record<string, unknown>, name: string, map: MapTree, draft: AppDraft): void {
  const value = valueAt(map, name);
  const seconds = value === undefined ? 0 : wholeSeconds(value, `healthcheck.${name}`, draft);
  if (seconds !== 0) check[name] = seconds;
}

/** Reads `stop_grace_period`, of at least a second. */
export function readGracePeriod(tree: Tree, draft: AppDraft): void {
  const seconds = wholeSeconds(tree, 'stop_grace_period', draft);
  if (seconds === 0) draft.check('stop_grace_period', tree, 'is 1 second: no less can be said here');
  if (seconds !== undefined) draft.set('stop_grace_period', Math.max(seconds, 1), tree);
}

/** Returns a duration in whole seconds. A fraction is rounded up, with a note. */
function wholeSeconds(tree: Tree, key: string, draft: AppDraft): number | undefined {
  const seconds = secondsOf(textOf(tree, key, draft) ?? '');
  if (seconds === undefined) {
    draft.refuse(key, tree, 'must be a duration with a unit, such as 30s or 1m30s');
    return undefined;
  }
  const whole = Math.ceil(seconds);
  if (whole !== seconds)
    draft.check(key, tree, `is rounded up to ${whole} seconds: durations here are whole seconds`);
  return whole;
}
