import * as z from 'zod';

const RESTART = /^(?:no|always|unless-stopped|on-failure(?::[1-9]\d{0,3})?)$/;
const RULE = 'must be unless-stopped, always, on-failure, on-failure:N (at most N times) or "no"';

/** When a container that ended is started again. */
export const Restart = z
  .string({ error: ({ input }) => RULE + (input === false ? '; write "no" in quotes' : '') })
  .regex(RESTART, RULE);

/** What a value of `restart` asks for. */
export interface RestartPolicy {
  /** Whether it is started again: always, only if it failed (its exit code is not 0), or never. */
  when: 'always' | 'failed' | 'never';
  /** How often at most, one time after the other; null for no limit. */
  most: number | null;
}

/** Returns what a valid value asks for; that of an app without one, if it is undefined. */
export function restartPolicy(restart: string = 'unless-stopped'): RestartPolicy {
  if (restart === 'no') return { when: 'never', most: null };
  const [, limit] = /^on-failure(?::(\d+))?$/.exec(restart) ?? [];
  if (!restart.startsWith('on-failure')) return { when: 'always', most: null };
  return { when: 'failed', most: limit === undefined ? null : Number(limit) };
}
