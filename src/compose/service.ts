import { check, explain } from '../desired/explain.ts';
import { fieldName } from '../desired/parse.ts';
import type { Position } from '../desired/yaml/document.ts';
import { APP_FIELDS, type AppDefaults, AppFields, isDefault } from '../protocol/app.ts';
import { NAME_PATTERN, NAME_RULE } from '../protocol/name.ts';
import type { Fields } from '../protocol/values.ts';
import { AppBuilder, type Project } from './builder.ts';
import { readEnvironment } from './environment.ts';
import { KEYS } from './keys.ts';
import { LEFT_OUT, NOT_FOLLOWED } from './left-out.ts';
import { readDefaultNetwork } from './networks.ts';
import type { Notes } from './notes.ts';
import { noteReferences } from './references.ts';
import type { Entry, MapTree } from './tree.ts';
import { isNull, valueAt } from './values.ts';

/** Returns the name of a known key that a misspelt one probably stands for. */
export type Suggest = (name: string, known: readonly string[]) => string | null;

/**
 * Returns the fields of the app that a service becomes, without those that have their default. What is wrong, left out or to
 * be checked is in the notes; after an error, the result is of no use.
 */
export function appOf(
  name: string,
  service: Entry,
  project: Project,
  defaults: AppDefaults,
  suggest: Suggest,
  notes: Notes,
): Fields {
  const builder = new AppBuilder(name, project, notes);
  if (!NAME_PATTERN.test(name))
    notes.add('error', name, service, `cannot be the name of an app: ${NAME_RULE}`);
  if (service.value.type !== 'map') {
    notes.add('error', name, service, 'must be a map with an image');
    return {};
  }
  readKeys(service.value, builder, suggest);
  if (!['networks', 'network_mode'].some((key) => valueAt(service.value as MapTree, key) !== undefined))
    readDefaultNetwork(service, builder);
  if (builder.fields['restart'] === undefined)
    builder.check('restart', service, project.jobs.has(name) ? JOB_RESTARTS : RESTARTS);
  if (builder.fields['container_image'] === undefined)
    notes.add('error', name, service, imageMissing(service.value));
  else checkFields(builder, service);
  noteReferences(builder);
  return withoutDefaults(builder.fields, defaults);
}

const RESTARTS =
  'is missing: the app runs again whenever it ends, as Compose\'s default does not; write `restart: "no"` for a job that ends';
const JOB_RESTARTS =
  'is missing, and others wait until this service has ended: write `restart: "no"` or `on-failure`, or it runs again and again';

function readKeys(service: MapTree, builder: AppBuilder, suggest: Suggest): void {
  for (const [key, { value, line, column }] of service.entries)
    if (!isNull(value) && !Object.hasOwn(KEYS, key)) noteKey(key, { line, column }, builder, suggest);
  readEnvironment(service, builder);
  for (const [key, { read }] of Object.entries(KEYS)) {
    const entry = service.entries.get(key);
    // The place of a value that is a map or list is that of its key, where people look for it.
    if (entry !== undefined && !isNull(entry.value))
      read({ ...entry.value, line: entry.line, column: entry.column }, builder);
  }
}

function noteKey(key: string, place: Position, builder: AppBuilder, suggest: Suggest): void {
  if (key.startsWith('x-') || key === '<<') return;
  if (key === 'extends') {
    builder.refuse(key, place, NOT_FOLLOWED);
    return;
  }
  const advice = Object.hasOwn(LEFT_OUT, key) ? LEFT_OUT[key] : undefined;
  if (advice !== undefined) {
    builder.leaveOut(key, place, advice);
    return;
  }
  const meant = suggest(key, [...Object.keys(KEYS), ...Object.keys(LEFT_OUT)]);
  builder.leaveOut(
    key,
    place,
    `is no key of Compose that is known here${meant === null ? '' : `; did you mean ${meant}?`}`,
  );
}

function imageMissing(service: MapTree): string {
  return service.entries.has('build')
    ? 'has no image, and devices do not build one: push the image that `build` makes, and name it in `image`'
    : 'has no image; name it in `image`';
}

/** Notes what the checks of apps have against the fields, at the keys from which they come. */
function checkFields(builder: AppBuilder, service: Position): void {
  const checked = check(AppFields, builder.fields);
  if (checked.success) return;
  for (const { path, message } of explain(checked.error.issues, APP_FIELDS)) {
    const own = builder.places.get(fieldName(path)) ?? builder.places.get(`${path[0]}`);
    const place: Position & { key?: string } = own ?? service;
    builder.refuse(place.key ?? fieldName(path), place, message);
  }
}

/** Returns the fields in the order of the API, without those that have their default or no value. */
function withoutDefaults(fields: Fields, defaults: AppDefaults): Fields {
  const isSet = (field: string): boolean =>
    fields[field] !== undefined && !isDefault(field, fields[field], defaults);
  return Object.fromEntries(APP_FIELDS.filter(isSet).map((field) => [field, fields[field]]));
}
