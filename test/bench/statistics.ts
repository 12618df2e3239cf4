/** The percentile `p`, in [0, 1], by the nearest rank; NaN for no values. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/**
 * Runs two measurements alternately (A B A B ...), so that other work on the machine affects both. Resolves to their medians.
 */
export async function alternate(
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

/** Resolves to the milliseconds that the work takes. */
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
