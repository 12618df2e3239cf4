import type { Position } from '../desired/yaml/document.ts';

/**
 * What a note is about: an `error` keeps everything from being written; `left-out` has no counterpart; `check` is written, and
 * means something else than it says, or needs something on the devices.
 */
export type NoteCode = 'error' | 'left-out' | 'check';

/** One thing about a Compose file that its user has to know. Line and column count from 1. */
export interface Note extends Position {
  /** The Compose file, or a file with variables, by its name in the folder of the Compose file. */
  file: string;
  code: NoteCode;
  /** The service; null for what belongs to none. */
  service: string | null;
  /** What it is about: a key such as `ports[0]`, or a variable. */
  key: string;
  /** A clause whose subject is the key; says what to do. Shows no values of variables, which can be secrets. */
  message: string;
}

/** Collects the notes about one Compose file. */
export class Notes {
  readonly list: Note[] = [];
  readonly #file: string;
  readonly #seen = new Set<string>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Adds a note, unless the same is there already: a part that is used by aliases is read several times. */
  add(
    code: NoteCode,
    key: string,
    { line, column }: Position,
    message: string,
    { service = null, file = this.#file }: { service?: string | null; file?: string } = {},
  ): void {
    const note: Note = { file, line, column, code, service, key, message };
    const identity = JSON.stringify(note);
    if (!this.#seen.has(identity)) this.list.push(note);
    this.#seen.add(identity);
  }

  get hasErrors(): boolean {
    return this.list.some(({ code }) => code === 'error');
  }
}
