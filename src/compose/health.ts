import type { AppBuilder } from './builder.ts';
import type { Service } from './project.ts';
import { secondsOf } from './units.ts';

const KNOWN = ['test', 'interval', 'timeout', 'retries', 'start_period', 'disable'];
const ADVICE = { start_interval: 'has no counterpart: `interval` counts from the start' };

/** Reads `healthcheck`; `disable` is the test NONE. */
export function readHealthcheck(healthcheck: NonNullable<Service['healthcheck']>, builder: AppBuilder): void {
  builder.leaveOthersOut(healthcheck, 'healthcheck', KNOWN, ADVICE);
  const { test, retries, disable } = healthcheck;
  if (disable === true) builder.set('healthcheck', { test: ['NONE'] });
  else if (test === undefined)
    builder.leaveOut('healthcheck', 'has no test: write the test of the image here as well');
  else
    builder.set('healthcheck', {
      test: testOf(test),
      ...durations(healthcheck, builder),
      ...(retries === undefined || retries === 0 ? {} : { retries }),
    });
}

/** A command of a shell is a text here. NONE is no command: Compose makes one of it, and the engine means no check. */
function testOf(test: string | readonly string[]): string | readonly string[] {
  const [first, command, ...more] = [test].flat();
  if (more.length > 0 || first === undefined) return test;
  const text = first === 'CMD-SHELL' ? command : command === undefined ? first : null;
  if (text === 'NONE') return ['NONE'];
  return text ?? test;
}

/** For the engine, 0 is its default. */
function durations(check: NonNullable<Service['healthcheck']>, builder: AppBuilder): Record<string, number> {
  const named = (['interval', 'timeout', 'start_period'] as const).flatMap((name) => {
    const text = check[name];
    const seconds = text === undefined ? 0 : wholeSeconds(text, `healthcheck.${name}`, builder);
    return seconds === 0 ? [] : [[name, seconds] as const];
  });
  return Object.fromEntries(named);
}

/** Reads `stop_grace_period`, of at least a second. */
export function readGracePeriod(text: string, builder: AppBuilder): void {
  const seconds = wholeSeconds(text, 'stop_grace_period', builder);
  if (seconds === 0) builder.check('stop_grace_period', 'is 1 second: no less can be said here');
  builder.set('stop_grace_period', Math.max(seconds, 1));
}

/** Returns a duration of Go in whole seconds. A fraction is rounded up, with a note. */
function wholeSeconds(text: string, key: string, builder: AppBuilder): number {
  const seconds = secondsOf(text) ?? 0;
  const whole = Math.ceil(seconds);
  if (whole !== seconds)
    builder.check(key, `is rounded up to ${whole} seconds: durations here are whole seconds`);
  return whole;
}
