import type { Trouble, TroubleCode } from '../../protocol/report.ts';

/** What is wrong with the device as a whole, one of a kind. */
export class Problems {
  readonly #wallTime: () => number;
  readonly #problems = new Map<TroubleCode, Trouble>();

  /** `wallTime` is in seconds since the Unix epoch. */
  constructor(wallTime: () => number) {
    this.#wallTime = wallTime;
  }

  /** Notes a problem, or one more failed attempt. Returns whether it is new or says something else. */
  note(code: TroubleCode, text: string, nextTry: number | null = null): boolean {
    const before = this.#problems.get(code);
    const since = before?.since ?? this.#wallTime();
    this.#problems.set(code, { code, text, since, attempts: (before?.attempts ?? 0) + 1, next_try: nextTry });
    return before?.text !== text;
  }

  /** Returns whether the problem was there. */
  clear(...codes: readonly TroubleCode[]): boolean {
    return codes.map((code) => this.#problems.delete(code)).includes(true);
  }

  list(): Trouble[] {
    return [...this.#problems.values()];
  }
}
