import { newFilePath } from '../desired/file.ts';
import { parseObject } from '../desired/parse.ts';
import type { Position } from '../desired/yaml/document.ts';
import { renderYaml } from '../desired/yaml/edit.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { type Kind, NAME_PATTERN, NAME_RULE } from '../protocol/name.ts';
import type { Fields } from '../protocol/values.ts';
import type { FileVariableUse, Project } from './builder.ts';
import { readDotenv } from './dotenv.ts';
import { type Lookup, UNSET_IN_FILE, type UsedVariable, type Variable, VariableUse } from './interpolate.ts';
import { NOT_FOLLOWED } from './left-out.ts';
import { type Note, Notes } from './notes.ts';
import { appOf, type Suggest } from './service.ts';
import { type MapTree, readTree, type Tree } from './tree.ts';
import { isNull, valueAt } from './values.ts';

/** What an import reads. */
export interface ComposeInput {
  /** The Compose file, and its name in its folder. */
  text: string;
  file: string;
  /** Its folder, an absolute path. */
  folder: string;
  home: string | undefined;
  /** The environment, which wins over the variables of `.env`. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The text of `.env` beside the file; null if there is none. */
  dotenv: string | null;
  /** The name of the device group; null for the name of the project. */
  group: string | null;
  defaults: AppDefaults;
  /** Reads a file of `env_file`; throws an error if it cannot. */
  readFile(path: string): string;
  suggest: Suggest;
}

/** A file of the desired state, and the place of the service that it comes from. */
export interface NewFile {
  kind: Kind;
  name: string;
  path: string;
  text: string;
  place: Position;
}

/** What a Compose file becomes. */
export interface ComposeImport {
  group: string;
  /** One file for each service, in the order of the Compose file, and one for the group; none if a note is an error. */
  files: NewFile[];
  notes: Note[];
  /** Variables whose values are part of the files: those of the environment and `.env`, and those of `env_file`. */
  variables: UsedVariable[];
  fileVariables: FileVariableUse[];
}

/** Turns the services of a Compose file into apps and a device group. Reads nothing but what it is given. */
export function importCompose(input: ComposeInput): ComposeImport {
  const notes = new Notes(input.file);
  const lookup = lookupOf(input, notes);
  const variables = new VariableUse(lookup, notes);
  const tree = readTree(input.text, (text, place) => variables.replace(text, place), notes);
  const root = tree?.type === 'map' ? tree : null;
  const name = projectName(root, lookup, input);
  const group = input.group ?? name;
  const result: ComposeImport = { group, files: [], notes: notes.list, variables: [], fileVariables: [] };
  const services = servicesOf(tree, notes);
  if (root === null || services === null) return result;
  if (!NAME_PATTERN.test(group))
    notes.add('error', 'group', root, `has no valid name: ${NAME_RULE}; name it with --group NAME`);
  noteTopLevel(root, notes, input.suggest);
  const project: Project = {
    name,
    folder: input.folder,
    home: input.home,
    hosts: hostsOf(services),
    jobs: jobsOf(services),
    volumes: resourcesOf(root, 'volumes'),
    networks: resourcesOf(root, 'networks'),
    variables,
    fileVariables: result.fileVariables,
    readFile: input.readFile,
  };
  const files = filesOf(group, services, project, input, notes);
  notes.list.sort((a, b) => a.line - b.line || a.column - b.column);
  return { ...result, files: notes.hasErrors ? [] : files, variables: variables.list };
}

/** Returns the service of each name of a host. Names of services come last, so that they win over other names of hosts. */
function hostsOf(services: MapTree): Map<string, string> {
  const others = Array.from(services.entries).flatMap(([service, { value }]) =>
    value.type !== 'map'
      ? []
      : [
          ...linkAliases(value),
          ...[...networkAliases(value), valueAt(value, 'container_name'), valueAt(value, 'hostname')]
            .flatMap((name) => (name?.type === 'scalar' ? [String(name.value)] : []))
            .map((name): [string, string] => [name, service]),
        ],
  );
  return new Map([...others, ...Array.from(services.entries.keys(), (name) => [name, name] as const)]);
}

/** The names by which a service knows others: `db:database`. */
function linkAliases(service: MapTree): [string, string][] {
  const links = valueAt(service, 'links');
  return (links?.type === 'list' ? links.items : []).flatMap((link): [string, string][] => {
    const [name = '', alias] = link.type === 'scalar' ? String(link.value).split(':') : [];
    return alias === undefined || alias === '' ? [] : [[alias, name]];
  });
}

function networkAliases(service: MapTree): Tree[] {
  const networks = valueAt(service, 'networks');
  return Array.from(networks?.type === 'map' ? networks.entries.values() : []).flatMap(({ value }) => {
    const aliases = value.type === 'map' ? valueAt(value, 'aliases') : undefined;
    return aliases?.type === 'list' ? [...aliases.items] : [];
  });
}

/** The services that others wait for until they have ended. */
function jobsOf(services: MapTree): Set<string> {
  const jobs = Array.from(services.entries.values()).flatMap(({ value }) => {
    const needed = value.type === 'map' ? valueAt(value, 'depends_on') : undefined;
    return needed?.type !== 'map' ? [] : [...needed.entries].filter(([, entry]) => isJob(entry.value));
  });
  return new Set(jobs.map(([name]) => name));
}

function isJob(dependency: Tree): boolean {
  const condition = dependency.type === 'map' ? valueAt(dependency, 'condition') : undefined;
  return condition?.type === 'scalar' && condition.value === 'service_completed_successfully';
}

function filesOf(
  group: string,
  services: MapTree,
  project: Project,
  { defaults, suggest }: ComposeInput,
  notes: Notes,
): NewFile[] {
  const apps = Array.from(services.entries, ([app, service]) => {
    const fields = appOf(app, service, project, defaults, suggest, notes);
    const file = fileOf('app', app, fields, service);
    // The checks that a file has beyond those of its fields: its size, and names that no key may have.
    const parsed = parseObject('app', Buffer.from(file.text), defaults);
    const [problem] = parsed.ok || notes.hasErrors ? [] : parsed.problems;
    if (problem !== undefined) notes.add('error', app, service, problem.message);
    return file;
  });
  return [...apps, fileOf('device_group', group, { apps: [...services.entries.keys()] }, services)];
}

function fileOf(kind: Kind, name: string, fields: Fields, { line, column }: Position): NewFile {
  return { kind, name, path: newFilePath(kind, name), text: renderYaml(fields), place: { line, column } };
}

/** Returns how variables are found: in the environment, then in `.env`. */
function lookupOf({ environment, dotenv }: ComposeInput, notes: Notes): Lookup {
  const fromEnvironment: Lookup = (name) => {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    return value === undefined ? undefined : { value, foundIn: 'the environment' };
  };
  const found = new Map<string, Variable>();
  const { variables, bad, unset } = readDotenv(dotenv ?? '', fromEnvironment);
  for (const { line, message } of bad)
    notes.add('error', 'line', { line, column: 1 }, message, { file: '.env' });
  for (const { name, line } of unset)
    notes.add('check', name, { line, column: 1 }, UNSET_IN_FILE, { file: '.env' });
  for (const { name, value, line } of variables)
    if (value !== null) found.set(name, { value, foundIn: `.env:${line}` });
  return (name) => fromEnvironment(name) ?? found.get(name);
}

/** Returns Compose's name of the project: `name`, COMPOSE_PROJECT_NAME, or made from the name of the folder. */
function projectName(root: MapTree | null, lookup: Lookup, { folder }: ComposeInput): string {
  const name = root?.entries.get('name')?.value;
  if (name?.type === 'scalar' && name.value !== null) return String(name.value);
  return (
    lookup('COMPOSE_PROJECT_NAME')?.value ??
    folder
      .slice(folder.lastIndexOf('/') + 1)
      .toLowerCase()
      .replace(/[^a-z0-9_-]/g, '')
      .replace(/^[_-]+/, '')
  );
}

/** Returns the services; null, with an error, if there are none. */
function servicesOf(tree: Tree | null, notes: Notes): MapTree | null {
  if (tree === null && notes.hasErrors) return null;
  const services = tree?.type === 'map' ? tree.entries.get('services')?.value : undefined;
  if (services?.type === 'map' && services.size > 1) return services;
  const message = 'are missing: a Compose file has a map `services` with at least one service';
  notes.add('error', 'services', services ?? tree ?? { line: 1, column: 1 }, message);
  return null;
}

const KNOWN = ['services', 'name', 'version', 'volumes', 'networks', '<<'];
/** These are named where services use them. */
const NAMED_ELSEWHERE = ['secrets', 'configs', 'models'];

function noteTopLevel(root: MapTree, notes: Notes, suggest: Suggest): void {
  for (const [key, { value, line, column }] of root.entries) {
    if (key.startsWith('x-') || isNull(value) || [...KNOWN, ...NAMED_ELSEWHERE].includes(key)) continue;
    const place = { line, column };
    if (key === 'include') notes.add('error', key, place, NOT_FOLLOWED);
    else {
      const meant = suggest(key, [...KNOWN, ...NAMED_ELSEWHERE]);
      const hint = meant === null ? '' : `; did you mean ${meant}?`;
      notes.add('left-out', key, place, `is no key of Compose that is known here${hint}`);
    }
  }
}

function resourcesOf(root: MapTree, key: 'volumes' | 'networks'): Map<string, Tree> {
  const tree = root.entries.get(key)?.value;
  return new Map(tree?.type === 'map' ? Array.from(tree.entries, ([name, { value }]) => [name, value]) : []);
}
