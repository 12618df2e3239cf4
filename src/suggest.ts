/**
 * Returns the name that a misspelt one probably stands for, or null if none is close enough, or several are. A name may
 * have one typing mistake for every three letters, but at most `maxMistakes`; of equally close names, the one with the
 * same first letter counts. If there is none, a name that has the given one between dashes is returned: `data-dir` for
 * `data`. Upper case, dashes before the name, `=` with a value after it, and `_` in the place of `-` do not count.
 */
export function closestName(misspelt: string, names: readonly string[], maxMistakes = 2): string | null {
  const given = canonical(misspelt);
  const limit = Math.min(maxMistakes, Math.floor(given.length / 3));
  for (let mistakes = 0; mistakes <= limit; mistakes++) {
    const close = names.filter((name) => differsBy(mistakes, given, canonical(name)));
    if (close.length > 0)
      return onlyOne(close) ?? onlyOne(close.filter((name) => canonical(name)[0] === given[0]));
  }
  return onlyOne(names.filter((name) => `-${canonical(name)}-`.includes(`-${given}-`)));
}

function onlyOne(names: readonly string[]): string | null {
  return names.length === 1 ? (names[0] ?? null) : null;
}

function canonical(name: string): string {
  return name
    .replace(/^-+|=.*$/gs, '')
    .toLowerCase()
    .replaceAll('_', '-');
}

/** Reports whether one text becomes the other by at most so many letters added, left out, replaced or swapped. */
function differsBy(mistakes: number, one: string, other: string): boolean {
  if (one === other) return true;
  if (mistakes === 0) return false;
  let same = 0;
  while (one[same] === other[same]) same++;
  const [a, b] = [one.slice(same), other.slice(same)];
  const isSwapped = a[0] === b[1] && a[1] === b[0];
  return (
    differsBy(mistakes - 1, a.slice(1), b) ||
    differsBy(mistakes - 1, a, b.slice(1)) ||
    differsBy(mistakes - 1, a.slice(1), b.slice(1)) ||
    (isSwapped && differsBy(mistakes - 1, a.slice(2), b.slice(2)))
  );
}
