import type { FleetStatus } from './read-status.ts';

/** How many devices may be silent: a number, or a share from 0 to 1. */
export type Allowance = { number: number } | { share: number };

/** Milliseconds for which a device may be behind: it has an update to make. */
const BEHIND_AT_MOST = 900_000;

/** Returns why the fleet is not fine, each a part of a sentence; none if it is. `now` is Unix milliseconds. */
export function reasonsOf(status: FleetStatus, silent: Allowance, now: number): string[] {
  const { summary, convergence, longestBehind } = status;
  const { totals } = convergence;
  const allowed = 'share' in silent ? silent.share * totals.devices : silent.number;
  const since = longestBehind?.since == null ? null : Date.parse(longestBehind.since);
  return [
    ...(summary.state === 'applied' ? [] : [`the manager is ${summary.state}`]),
    ...(summary.problems > 0 ? [`${count(summary.problems, 'problem')} of files`] : []),
    ...(totals.failed > 0 ? [`${count(totals.failed, 'device')} failed`] : []),
    ...(totals.silent > allowed ? [`${count(totals.silent, 'device')} silent`] : []),
    ...(since !== null && now - since > BEHIND_AT_MOST
      ? ['a device has been behind for more than 15 minutes']
      : []),
  ];
}

/** `1 device`, `2 devices`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}
