/** Maximum size of the comparison table, in cells. For lists that need more, only common beginnings and ends are found. */
export const MAX_CELLS = 1_000_000;

type IndexPair = [number, number];

/** Returns the index pairs of a longest common subsequence of two lists, in ascending order. */
export function commonPairs(a: readonly string[], b: readonly string[]): IndexPair[] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = middlePairs(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [
    ...range(head, 0, 0),
    ...middle.map(([i, j]): IndexPair => [i + head, j + head]),
    ...range(tail, a.length - tail, b.length - tail),
  ];
}

function range(length: number, fromA: number, fromB: number): IndexPair[] {
  return Array.from({ length }, (_, index) => [fromA + index, fromB + index]);
}

function middlePairs(a: readonly string[], b: readonly string[]): IndexPair[] {
  if (a.length === 0 || b.length === 0 || (a.length + 1) * (b.length + 1) > MAX_CELLS) return [];
  const length = commonLengths(a, b);
  const pairs: IndexPair[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (length(i + 1, j) >= length(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/** The length of the longest common subsequence of `a` from index i on and `b` from index j on. */
function commonLengths(a: readonly string[], b: readonly string[]): (i: number, j: number) => number {
  const width = b.length + 1;
  const cells = new Uint32Array((a.length + 1) * width);
  const length = (i: number, j: number) => cells[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      cells[i * width + j] =
        a[i] === b[j] ? length(i + 1, j + 1) + 1 : Math.max(length(i + 1, j), length(i, j + 1));
    }
  }
  return length;
}
