/** Replaces the characters from `start` up to, but not including, `end` with `text`. */
interface Splice {
  start: number;
  end: number;
  text: string;
}

/** Collects changes to a text and applies them all at once. All offsets refer to the original text. */
export class Patch {
  /** The original text. */
  readonly text: string;
  /** The line break for new lines. */
  readonly eol: string;
  readonly #splices: Splice[] = [];

  constructor(text: string, eol: string) {
    this.text = text;
    this.eol = eol;
  }

  /** Replaces a range. Text inserted at the same offset comes before the replacement. */
  replace(start: number, end: number, text: string): void {
    this.#splices.push({ start, end, text });
  }

  /** Inserts a text. Insertions at the same offset keep the order of the calls. */
  insert(offset: number, text: string): void {
    this.replace(offset, offset, text);
  }

  /** Removes a range. Removals may overlap one another. */
  remove(start: number, end: number): void {
    this.replace(start, end, '');
  }

  /** Returns the changed text; undefined if a change would write into a range that another one replaces or removes. */
  apply(): string | undefined {
    const parts: string[] = [];
    let done = 0;
    for (const { start, end, text } of this.#splices.sort(compareSplices)) {
      if (start < done && text !== '') return undefined;
      parts.push(this.text.slice(done, start), text);
      done = Math.max(end, done);
    }
    parts.push(this.text.slice(done));
    return parts.join('');
  }
}

/** Orders splices by offset, and insertions before replacements and removals at the same offset. */
function compareSplices(a: Splice, b: Splice): number {
  return a.start - b.start || Number(a.end > a.start) - Number(b.end > b.start);
}
