/** The value below which a part `p` in [0, 1] of the values lies (nearest rank); NaN of none. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/**
 * Runs two measurements in turns (A B A B ...), so that what else the machine does falls on both; their medians.
 */
export async function inTurns(
  rounds: number,
  a: () => Promise<number>,
  b: () => Promise<number>,
): Promise<[number, number]> {
  const measured: number[] = [];
  const baseline: number[] = [];
  for (let round = 0; round < rounds; round++) {
    measured.push(await a());
    baseline.push(await b());
  }
  return [median(measured), median(baseline)];
}

/** Milliseconds that something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function ms(value: number): string {
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}

export function perSecond(value: number): string {
  return `${Math.round(value).toLocaleString('en')}/s`;
}

export function times(value: number): string {
  return value.toFixed(2);
}
