/**
 * What a note is about: an `error` keeps everything from being written; `left-out` has no counterpart; `check` is written, and
 * means something else than it says, or needs something on the devices.
 */
type NoteCode = 'error' | 'left-out' | 'check';

/** One thing about a Compose project that its user has to know. */
export interface Note {
  code: NoteCode;
  /** The service; null for what belongs to none. */
  service: string | null;
  /** What it is about: a key such as `ports[0]`. */
  key: string;
  /** A clause whose subject is the key; says what to do. Shows no values of variables, which can be secrets. */
  message: string;
}

export function hasErrors(notes: readonly Note[]): boolean {
  return notes.some(({ code }) => code === 'error');
}
