/** Longest name that is compared: a longer one is not a typing error. */
const MAX_LENGTH = 40;

/** Returns the known name that is probably meant by `name`: all but a few letters must match. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const letters = lettersOf(name);
  const distances = known.map((other): [number, string] => [distance(letters, lettersOf(other)), other]);
  const [nearest] = distances.sort(([a], [b]) => a - b);
  const mostWrong = letters.length < 3 ? 0 : Math.max(1, Math.floor(letters.length / 5));
  return nearest !== undefined && nearest[0] <= mostWrong ? nearest[1] : undefined;
}

/** The name in lower case, without the characters that are easily confused: hyphens, underscores, blanks, digits. */
function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

/** The Levenshtein distance: how many letters must be inserted, deleted or replaced to turn `a` into `b`. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] as number) + 1, (row[j - 1] as number) + 1));
    }
  }
  return row[b.length] as number;
}
