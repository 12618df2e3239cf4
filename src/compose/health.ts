import type { AppBuilder } from './builder.ts';
import type { MapTree, Tree } from './tree.ts';
import { secondsOf } from './units.ts';
import { booleanOf, noteOthers, numberOf, textOf, textOfScalar, textsOf, valueAt } from './values.ts';

const KNOWN = ['test', 'interval', 'timeout', 'retries', 'start_period', 'disable'];
const ADVICE = { start_interval: 'has no counterpart: `interval` counts from the start' };

/** Reads `healthcheck`. A text as the test is a command of a shell; `disable` is the test NONE. */
export function readHealthcheck(tree: Tree, builder: AppBuilder): void {
  if (tree.type !== 'map') {
    builder.refuse('healthcheck', tree, 'must be a map');
    return;
  }
  noteOthers(tree, 'healthcheck', builder, KNOWN, ADVICE);
  const disable = valueAt(tree, 'disable');
  if (disable !== undefined && booleanOf(disable, 'healthcheck.disable', builder) === true) {
    builder.set('healthcheck', { test: ['NONE'] }, tree);
    return;
  }
  const test = valueAt(tree, 'test');
  if (test === undefined) {
    builder.leaveOut('healthcheck', tree, 'has no test: write the test of the image here, too');
    return;
  }
  const check: Record<string, unknown> = { test: testOf(test, builder) };
  for (const name of ['interval', 'timeout', 'start_period']) setDuration(check, name, tree, builder);
  const retries = valueAt(tree, 'retries');
  const number = retries === undefined ? 0 : numberOf(retries, 'healthcheck.retries', builder);
  if (number !== 0) check['retries'] = number;
  builder.set('healthcheck', check, tree);
}

function testOf(tree: Tree, builder: AppBuilder): string | readonly string[] {
  if (tree.type !== 'scalar') return textsOf(tree, 'healthcheck.test', builder);
  const text = textOfScalar(tree.value);
  return text === 'NONE' ? ['NONE'] : text;
}

/** Sets a duration of a check. For the engine, 0 is its default. */
function setDuration(check: Record<string, unknown>, name: string, map: MapTree, builder: AppBuilder): void {
  const value = valueAt(map, name);
  const seconds = value === undefined ? 0 : wholeSeconds(value, `healthcheck.${name}`, builder);
  if (seconds !== 0) check[name] = seconds;
}

/** Reads `stop_grace_period`, of at least a second. */
export function readGracePeriod(tree: Tree, builder: AppBuilder): void {
  const seconds = wholeSeconds(tree, 'stop_grace_period', builder);
  if (seconds === 0) builder.check('stop_grace_period', tree, 'is 1 second: no less can be said here');
  if (seconds !== undefined) builder.set('stop_grace_period', Math.max(seconds, 1), tree);
}

/** Returns a duration in whole seconds. A fraction is rounded up, with a note. */
function wholeSeconds(tree: Tree, key: string, builder: AppBuilder): number | undefined {
  const seconds = secondsOf(textOf(tree, key, builder) ?? '');
  if (seconds === undefined) {
    builder.refuse(key, tree, 'must be a duration with a unit, such as 30s or 1m30s');
    return undefined;
  }
  const whole = Math.ceil(seconds);
  if (whole !== seconds)
    builder.check(key, tree, `is rounded up to ${whole} seconds: durations here are whole seconds`);
  return whole;
}
