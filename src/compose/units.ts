const SECONDS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
};
const DURATION = /(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d|w)/gy;

/** Returns the seconds of a duration such as `1m30s`; undefined if it is none. They can be a fraction. */
export function secondsOf(text: string): number | undefined {
  const parts = [...text.matchAll(DURATION)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text)
    return text === '0' ? 0 : undefined;
  const seconds = parts.reduce(
    (sum, [, number, unit]) => sum + Number(number) * (SECONDS[unit ?? ''] ?? 0),
    0,
  );
  // Thousandths of a second are sums of fractions that binary numbers do not have.
  return Math.round(seconds * 1e9) / 1e9;
}

const UNITS = ['b', 'k', 'm', 'g', 't'];

/** Returns the bytes of a size such as `512m`, `1.5GB`, `512MiB` or a number of bytes; undefined if it is none. */
export function bytesOf(text: string): number | undefined {
  const [, number, unit = 'b'] = /^(\d+(?:\.\d+)?) ?([kmgt])?(?:i?b)?$/i.exec(text.trim()) ?? [];
  if (number === undefined) return undefined;
  return Math.floor(Number(number) * 1024 ** UNITS.indexOf(unit.toLowerCase()));
}

/** Returns the shortest text for a number of bytes: `512m`, `1g`, `100b`. */
export function sizeText(bytes: number): string {
  const exponent = [3, 2, 1].find((power) => bytes > 0 && bytes % 1024 ** power === 0) ?? 0;
  return `${bytes / 1024 ** exponent}${UNITS[exponent]}`;
}
