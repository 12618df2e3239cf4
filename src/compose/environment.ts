import type { AppBuilder } from './builder.ts';
import { type FileVariable, readDotenv } from './dotenv.ts';
import { UNSET_IN_FILE } from './interpolate.ts';
import { resolvePath } from './paths.ts';
import type { MapTree, Tree } from './tree.ts';
import { booleanOf, itemsOf, namedTexts, textOf, valueAt } from './values.ts';

/** Reads `env_file` and `environment`, which wins. */
export function readEnvironment(service: MapTree, builder: AppBuilder): void {
  const [file, own] = [valueAt(service, 'env_file'), valueAt(service, 'environment')];
  const place = own ?? file;
  if (place === undefined) return;
  const variables = new Map<string, string>();
  if (file !== undefined) readFiles(file, variables, builder);
  if (own !== undefined) readOwn(own, variables, builder);
  if (variables.size > 0) builder.set('env_vars', Object.fromEntries(variables), place);
}

function readOwn(own: Tree, variables: Map<string, string>, builder: AppBuilder): void {
  for (const { name, key, text, ...at } of namedTexts(own, 'environment', builder)) {
    if (!isName(name, text)) {
      builder.refuse(key, at, NO_NAME);
      continue;
    }
    const value = text ?? builder.project.variables.take(name, at);
    if (value !== undefined) {
      variables.set(name, value);
      builder.places.set(`env_vars.${name}`, at);
    } else builder.leaveOut(`environment.${name}`, at, NOT_SET);
  }
}

/** Whether an entry has a name; before another sign than `=`, part of the value would be taken for one. */
function isName(name: string, text: string | null): boolean {
  return text === null ? /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name) : !/\s/.test(name);
}

const NO_NAME = 'has no `=` behind its name; write NAME=value';
const NOT_SET = 'takes its value from the environment, where it is not set; set it, or write NAME=value';

function readFiles(tree: Tree, variables: Map<string, string>, builder: AppBuilder): void {
  // One map is short for a list of one.
  const list: Tree = tree.type === 'map' ? { ...tree, type: 'list', items: [tree] } : tree;
  itemsOf(list, 'env_file', builder, true).forEach((item, index) => {
    for (const variable of fileVariables(item, `env_file[${index}]`, builder))
      take(variable, variables, builder);
  });
}

/** A variable of a file, and the name of that file. */
interface NamedVariable extends FileVariable {
  file: string;
}

function fileVariables(item: Tree, key: string, builder: AppBuilder): NamedVariable[] {
  const path = item.type === 'map' ? valueAt(item, 'path') : item;
  const file = path === undefined ? undefined : textOf(path, key, builder);
  const text = file === undefined ? null : readFile(file, item, key, builder);
  if (file === undefined || text === null) return [];
  const isRaw = item.type === 'map' && isText(valueAt(item, 'format'), 'raw');
  const found = isRaw ? rawVariables(text) : variablesOf(text, file, builder);
  return found.map((variable) => ({ ...variable, file }));
}

/** Reads a file; returns null, with a note, if there is none, unless it need not exist. */
function readFile(name: string, item: Tree, key: string, builder: AppBuilder): string | null {
  try {
    return builder.project.readFile(resolvePath(name, builder.project));
  } catch {
    const required = item.type === 'map' ? valueAt(item, 'required') : undefined;
    if (required === undefined || booleanOf(required, `${key}.required`, builder) === true)
      builder.refuse(key, item, 'names a file that cannot be read; create it beside the Compose file');
    return null;
  }
}

function isText(tree: Tree | undefined, text: string): boolean {
  return tree?.type === 'scalar' && tree.value === text;
}

function rawVariables(text: string): FileVariable[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const [, name, value] = /^([^#=\s][^=]*)=(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : { name, value: value ?? '', line: index + 1 };
  });
}

function variablesOf(text: string, file: string, builder: AppBuilder): FileVariable[] {
  const { variables, bad, unset } = readDotenv(text, (name) => builder.project.variables.lookup(name));
  const { service } = builder;
  for (const { line, message } of bad)
    builder.notes.add('error', 'line', { line, column: 1 }, message, { service, file });
  for (const { name, line } of unset)
    builder.notes.add('check', name, { line, column: 1 }, UNSET_IN_FILE, { service, file });
  return variables;
}

function take(
  { name, value, line, file }: NamedVariable,
  variables: Map<string, string>,
  builder: AppBuilder,
): void {
  const found = value ?? builder.project.variables.lookup(name)?.value;
  if (found === undefined) return;
  variables.set(name, found);
  builder.project.fileVariables.push({ name, foundIn: `${file}:${line}`, service: builder.service });
}
