/** Seconds of each unit. */
const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** Returns a time in its two largest units: `3 d 4 h`, `5 min`, `12 s`. A negative one, of a clock that jumped, is `0 s`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const index = UNITS.findIndex(([, size]) => whole >= size);
  const parts: string[] = [];
  let rest = whole;
  for (const [name, size] of index < 0 ? [] : UNITS.slice(index, index + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(' ') || '0 s';
}
