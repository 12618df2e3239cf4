import type { Note } from './notes.ts';
import type { Project } from './project.ts';

/** An app that is being made from a service. */
export class AppBuilder {
  readonly service: string;
  readonly project: Project;
  /** Folders of this machine, absolute paths: what is mounted from below them is probably missing on devices. */
  readonly ownFolders: readonly string[];
  readonly notes: Note[] = [];
  /** The fields of the app so far. */
  readonly fields: Record<string, unknown> = {};
  /** The key of Compose from which each field comes, where its name is another. */
  readonly keys = new Map<string, string>();

  constructor(service: string, project: Project, ownFolders: readonly string[]) {
    this.service = service;
    this.project = project;
    this.ownFolders = ownFolders;
  }

  set(field: string, value: unknown, key = field): void {
    this.fields[field] = value;
    this.keys.set(field, key);
  }

  /** Notes that a part has no counterpart. The sentence says what to do. */
  leaveOut(key: string, message: string): void {
    this.notes.push({ code: 'left-out', service: this.service, key, message });
  }

  /** Notes what the user should look at, although it was written. */
  check(key: string, message: string): void {
    this.notes.push({ code: 'check', service: this.service, key, message });
  }

  /** Notes a value that no app can have, so that nothing is written. */
  refuse(key: string, message: string): void {
    this.notes.push({ code: 'error', service: this.service, key, message });
  }

  /** Notes every key of a map that is not among the known ones and has a value, with the advice that there is. */
  leaveOthersOut(
    map: Readonly<Record<string, unknown>>,
    key: string,
    known: readonly string[],
    advice: Readonly<Record<string, string>> = {},
  ): void {
    for (const [name, value] of Object.entries(map)) {
      if (known.includes(name) || name.startsWith('x-') || isEmpty(value)) continue;
      this.leaveOut(`${key}.${name}`, advice[name] ?? 'has no counterpart here');
    }
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
