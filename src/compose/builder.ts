import type { Position } from '../desired/yaml/document.ts';
import type { VariableUse } from './interpolate.ts';
import type { Notes } from './notes.ts';
import type { Tree } from './tree.ts';

/** A variable of an env_file, which becomes part of an app without being named in the Compose file. */
export interface FileVariableUse {
  name: string;
  /** Where its value comes from, such as `db.env:3`. */
  foundIn: string;
  service: string;
}

/** What the services of a file have in common. */
export interface Project {
  /** Compose's name of the project, which its volumes have before their own. */
  name: string;
  /** The folder of the file, an absolute path. */
  folder: string;
  /** The home folder, for `~`. */
  home: string | undefined;
  /** The service that each name of a host stands for: its own name, `container_name`, `hostname` and aliases. */
  hosts: ReadonlyMap<string, string>;
  /** The services that others wait for until they have ended. */
  jobs: ReadonlySet<string>;
  /** The volumes and networks of the top level, by name. */
  volumes: ReadonlyMap<string, Tree>;
  networks: ReadonlyMap<string, Tree>;
  variables: VariableUse;
  fileVariables: FileVariableUse[];
  /** Reads a file; throws an error that says why it cannot. */
  readFile(path: string): string;
}

/** An app that is being made from a service. */
export class AppBuilder {
  readonly service: string;
  readonly project: Project;
  readonly notes: Notes;
  /** The fields of the app so far. */
  readonly fields: Record<string, unknown> = {};
  /** The place in the Compose file from which each field comes. */
  readonly places = new Map<string, Position & { key?: string }>();

  constructor(service: string, project: Project, notes: Notes) {
    this.service = service;
    this.project = project;
    this.notes = notes;
  }

  set(field: string, value: unknown, place: Position): void {
    this.fields[field] = value;
    this.places.set(field, place);
  }

  /** Notes that a part has no counterpart. The sentence says what to do. */
  leaveOut(key: string, place: Position, message: string): void {
    this.notes.add('left-out', key, place, message, { service: this.service });
  }

  /** Notes what the user should look at, although it was written. */
  check(key: string, place: Position, message: string): void {
    this.notes.add('check', key, place, message, { service: this.service });
  }

  /** Notes a value that cannot be read, so that nothing is written. */
  refuse(key: string, place: Position, message: string): void {
    this.notes.add('error', key, place, message, { service: this.service });
  }
}
