/** Replaces the characters from `start` to before `end` by `text`. */
interface Splice {
  start: number;
  end: number;
  text: string;
}

/** Collects changes to a text. All offsets are those of the original text. */
export class Patch {
  readonly text: string;
  /** The line break of new lines. */
  readonly eol: string;
  readonly #splices: Splice[] = [];

  constructor(text: string, eol: string) {
    this.text = text;
    this.eol = eol;
  }

  /** Replaces a range. Insertions at one offset come out in the order of the calls, before a replacement there. */
  replace(start: number, end: number, text: string): void {
    if (start !== end || text !== '') this.#splices.push({ start, end, text });
  }

  insert(offset: number, text: string): void {
    this.replace(offset, offset, text);
  }

  remove(start: number, end: number): void {
    this.replace(start, end, '');
  }

  /** The changed text; undefined if two changes contradict each other. Removals may overlap. */
  apply(): string | undefined {
    const parts: string[] = [];
    let done = 0;
    for (const { start, end, text } of this.#splices.sort(byPlace)) {
      if (start < done && text !== '') return undefined;
      parts.push(this.text.slice(done, start), text);
      done = Math.max(end, done);
    }
    parts.push(this.text.slice(done));
    return parts.join('');
  }
}

function byPlace(a: Splice, b: Splice): number {
  return a.start - b.start || Number(a.end > a.start) - Number(b.end > b.start);
}
