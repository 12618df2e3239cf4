import type { Trouble, TroubleCode } from '../../protocol/report.ts';

/** What is wrong with the device as a whole, one of a kind. */
export class Problems {
  readonly #wallTime: () => number;
  readonly #problems = new Map<TroubleCode, Trouble>();

  /** `wallTime` is in seconds since the Unix epoch. */
  constructor(wallTime: () => number) {
    this.#wallTime = wallTime;
  }

  /** Notes one more failed attempt. Returns whether the problem is new or says something else. */
  note(code: TroubleCode, text: string): boolean {
    return this.#set(code, text, (this.#problems.get(code)?.attempts ?? 0) + 1);
  }

  /**
   * Notes a state of affairs, at which nothing is tried before `nextTry` (seconds since the Unix epoch). Returns whether it
   * is new or says something else.
   */
  show(code: TroubleCode, text: string, nextTry: number | null = null): boolean {
    return this.#set(code, text, 0, nextTry);
  }

  has(code: TroubleCode): boolean {
    return this.#problems.has(code);
  }

  #set(code: TroubleCode, text: string, attempts: number, next_try: number | null = null): boolean {
    const before = this.#problems.get(code);
    const since = before?.since ?? this.#wallTime();
    this.#problems.set(code, { code, text, since, attempts, next_try });
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
