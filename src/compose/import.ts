import { check, explain } from '../desired/explain.ts';
import { newFilePath } from '../desired/file.ts';
import { fieldName, parseObject } from '../desired/parse.ts';
import { renderYaml } from '../desired/yaml/edit.ts';
import { APP_FIELDS, type AppDefaults, AppFields, isDefault } from '../protocol/app.ts';
import { type Kind, NAME_PATTERN, NAME_RULE } from '../protocol/name.ts';
import type { Fields } from '../protocol/values.ts';
import { AppBuilder } from './builder.ts';
import { KEYS, readKeys } from './keys.ts';
import { LEFT_OUT } from './left-out.ts';
import { hasErrors, type Note } from './notes.ts';
import type { Project, Service } from './project.ts';

/** How a project is imported. */
export interface ImportOptions {
  /** The name of the device group; null for the name of the project. */
  group: string | null;
  defaults: AppDefaults;
  /** Folders of this machine, absolute paths: what is mounted from below them is probably missing on devices. */
  ownFolders: readonly string[];
}

/** A file of the desired state. */
export interface NewFile {
  kind: Kind;
  name: string;
  path: string;
  text: string;
}

/** What a Compose project becomes. */
export interface ComposeImport {
  group: string;
  /** One file for each service, and one for the group; none if a note is an error. */
  files: NewFile[];
  notes: Note[];
}

/** Turns the services of a Compose project into apps and a device group. */
export function importProject(project: Project, options: ImportOptions): ComposeImport {
  const group = options.group ?? project.name;
  const notes: Note[] = [];
  const refuse = (key: string, message: string): void => {
    notes.push({ code: 'error', service: null, key, message });
  };
  const services = Object.entries(project.services);
  if (services.length === 0) refuse('services', 'are missing: there has to be at least one');
  if (!NAME_PATTERN.test(group))
    refuse('group', `has no valid name: ${NAME_RULE}; name it with --group NAME`);
  const jobs = jobsOf(project);
  const apps = services.map(([name, service]) => {
    const builder = new AppBuilder(name, project, options.ownFolders);
    const file = fileOf('app', name, fieldsOf(service, jobs, options.defaults, builder));
    checkFile(file, options.defaults, builder);
    notes.push(...builder.notes);
    return file;
  });
  const files = [...apps, fileOf('device_group', group, { apps: services.map(([name]) => name) })];
  return { group, files: hasErrors(notes) ? [] : files, notes };
}

/** The services that others wait for until they have ended. */
function jobsOf({ services }: Project): Set<string> {
  const needed = Object.values(services).flatMap(({ depends_on = {} }) => Object.entries(depends_on));
  const jobs = needed.filter(([, { condition }]) => condition === 'service_completed_successfully');
  return new Set(jobs.map(([name]) => name));
}

const RESTARTS =
  'is missing: the app runs again whenever it ends, as Compose\'s default does not; write `restart: "no"` for a job that ends';
const JOB_RESTARTS =
  'is missing, and others wait until this service has ended: write `restart: "no"` or `on-failure`, or it runs again and again';

/** Returns the fields of the app that a service becomes, without those that have their default. */
function fieldsOf(
  service: Service,
  jobs: ReadonlySet<string>,
  defaults: AppDefaults,
  builder: AppBuilder,
): Fields {
  const { fields } = builder;
  if (!NAME_PATTERN.test(builder.service))
    builder.refuse('name', `cannot be the name of an app: ${NAME_RULE}`);
  for (const [key, value] of Object.entries(service)) if (value !== undefined) noteKey(key, builder);
  readKeys(service, builder);
  if (fields['restart'] === undefined)
    builder.check('restart', jobs.has(builder.service) ? JOB_RESTARTS : RESTARTS);
  if (fields['container_image'] === undefined) builder.refuse('image', imageMissing(service));
  else checkFields(builder);
  const isSet = (field: string): boolean =>
    fields[field] !== undefined && !isDefault(field, fields[field], defaults);
  return Object.fromEntries(APP_FIELDS.filter(isSet).map((field) => [field, fields[field]]));
}

function noteKey(key: string, builder: AppBuilder): void {
  if (key.startsWith('x-') || Object.hasOwn(KEYS, key)) return;
  const advice = Object.hasOwn(LEFT_OUT, key) ? LEFT_OUT[key] : undefined;
  builder.leaveOut(key, advice ?? 'is not known here');
}

function imageMissing(service: Service): string {
  return service['build'] === undefined
    ? 'is missing; name the image of the service'
    : 'is missing, and devices do not build one: push the image that `build` makes, and name it here';
}

/** Notes what the checks of apps have against the fields, at the keys from which they come. */
function checkFields(builder: AppBuilder): void {
  const checked = check(AppFields, builder.fields);
  if (checked.success) return;
  for (const { path, message } of explain(checked.error.issues, APP_FIELDS)) {
    const [field = ''] = path;
    builder.refuse(fieldName([builder.keys.get(`${field}`) ?? field, ...path.slice(1)]), message);
  }
}

/** The checks that a file has beyond those of its fields: its size, and names that no key may have. */
function checkFile(file: NewFile, defaults: AppDefaults, builder: AppBuilder): void {
  if (hasErrors(builder.notes)) return;
  const parsed = parseObject('app', Buffer.from(file.text), defaults);
  const [problem] = parsed.ok ? [] : parsed.problems;
  if (problem !== undefined) builder.refuse('file', problem.message);
}

function fileOf(kind: Kind, name: string, fields: Fields): NewFile {
  return { kind, name, path: newFilePath(kind, name), text: renderYaml(fields) };
}
