import fc from 'fast-check';
import { completeApp } from '../../src/desired/app.ts';
import { classifyPath } from '../../src/desired/file.ts';
import { parseObjectText } from '../../src/desired/parse.ts';
import type { Problem } from '../../src/desired/problem.ts';
import { DesiredState, type FileChange, type StateFile } from '../../src/desired/state.ts';
import { AppliedState } from '../../src/plan/applied.ts';
import { makePlan } from '../../src/plan/plan.ts';
import { type App, appDefaults } from '../../src/protocol/app.ts';

/** The defaults of apps with the default settings. */
export const DEFAULTS = appDefaults(['nebula', 'bridge']);

/** An app's content with the defaults filled in. */
export function appOf(fields: Partial<App> = {}): App {
  return completeApp({ container_image: 'web:1', ...fields }, DEFAULTS);
}

const parsedFiles = new Map<string, StateFile | null>();

/**
 * The parsed file of a text at a path; null for an ignored path. Results are cached. The text itself is the blob id.
 */
export function stateFile(path: string, text: string): StateFile | null {
  const key = `${path}\0${text}`;
  const known = parsedFiles.get(key);
  if (known !== undefined) return known;
  const file = readStateFile(path, text);
  parsedFiles.set(key, file);
  return file;
}

function readStateFile(path: string, text: string): StateFile | null {
  const role = classifyPath(path);
  const blob = text;
  if (role.role === 'ignored') return null;
  if (role.role === 'problem')
    return { path, blob, kind: null, problem: role.problem, severity: role.severity };
  const parsed = parseObjectText(role.kind, text, DEFAULTS);
  return { path, blob, kind: role.kind, name: role.name, parsed };
}

/** Texts of files by path; null deletes a file. */
export type Files = Readonly<Record<string, string | null>>;

/** The same files as the changes that a `DesiredState` takes. */
export function changesOf(files: Files): FileChange[] {
  return Object.entries(files).map(([path, text]) => ({
    path,
    file: text === null ? null : stateFile(path, text),
  }));
}

/** The desired state of a folder with these files alone. */
export function stateOf(files: Files): DesiredState {
  const state = new DesiredState();
  state.apply(changesOf(files));
  return state;
}

/** The applied state after these files were applied to an empty store. */
export function appliedOf(files: Files): AppliedState {
  const applied = new AppliedState();
  const desired = stateOf(files);
  applied.applySteps(makePlan(desired.keys(), desired, applied).steps);
  return applied;
}

/** A problem without its message, such as `device-groups/edge.yaml:2:5 app-unknown`. */
export function withoutMessage({ file, line, column, code }: Problem): string {
  return `${file}:${line}:${column} ${code}`;
}

const APP_NAMES = ['a', 'b', 'c'];

const appText = fc.constantFrom(
  'container_image: i:1\n',
  'container_image: i:1\n',
  '# equal to the first\nrunning: true\ncontainer_image: "i:1"\n',
  'container_image: i:2\nrunning: false\n',
  'container_image: i:1\nrestart: always\ncommand: []\n',
  'container_image: i:1\nmemory: 64m\nhealthcheck:\n  test: [CMD, "true"]\n',
  'container_image: i:1\nmemory: 64\n',
  'container_image: [\n',
  'container_image: 1\n',
  '',
);

const groupText = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.shuffledSubarray([...APP_NAMES, 'unknown']).map((apps) => `apps: [${apps.join(', ')}]\n`),
  },
  { weight: 4, arbitrary: fc.shuffledSubarray(APP_NAMES).map((apps) => `apps: [${apps.join(', ')}]\n`) },
  { weight: 1, arbitrary: fc.constantFrom('apps: [a, a]\n', 'apps: {\n', '', 'apps: []\n') },
);

const appPath = fc
  .tuple(
    fc.constantFrom('apps', 'apps', 'apps/team'),
    fc.constantFrom(...APP_NAMES),
    fc.constantFrom('yaml', 'yaml', 'yml'),
  )
  .map(([folder, name, ending]) => `${folder}/${name}.${ending}`);

const groupPath = fc
  .tuple(fc.constantFrom('device-groups', 'device-groups', 'device-groups/x'), fc.constantFrom('g', 'h'))
  .map(([folder, name]) => `${folder}/${name}.yaml`);

const devicePath = fc
  .tuple(fc.constantFrom('devices', 'devices', 'devices/x'), fc.constantFrom('d', 'e'))
  .map(([folder, name]) => `${folder}/${name}.yaml`);

const deviceText = fc.constantFrom(
  'device_group: g\n',
  'device_group: g\n',
  'device_group: h\n',
  'device_group: "g"\nvariables: {}\n',
  'device_group: unknown\n',
  'device_group: g\nvariables: {TILL: "1"}\n',
  'variables: {TILL: "2"}\n',
  'variables: {name: x}\n',
  'device_group: [\n',
  '',
);

const strayPath = fc.constantFrom('apps/not a name.yaml', 'notes.txt', 'README.md', 'apps/.hidden.yaml');

const deleted = fc.constant(null);

function change(
  path: fc.Arbitrary<string>,
  text: fc.Arbitrary<string>,
): fc.Arbitrary<[string, string | null]> {
  return fc.tuple(path, fc.oneof({ weight: 3, arbitrary: text }, { weight: 1, arbitrary: deleted }));
}

/**
 * A random commit that changes up to four files. There are so few names that duplicates, missing apps, and objects that
 * are deleted and created again are frequent.
 */
export const anyCommit: fc.Arbitrary<Files> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: change(appPath, appText) },
      { weight: 5, arbitrary: change(groupPath, groupText) },
      { weight: 4, arbitrary: change(devicePath, deviceText) },
      { weight: 1, arbitrary: change(strayPath, appText) },
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((changes) => Object.fromEntries(changes));
