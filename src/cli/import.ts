import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AppDefaults } from '../desired/app.ts';
import type { Content } from '../desired/content.ts';
import { newFilePath } from '../desired/file.ts';
import { KINDS, type Kind, NAME_RULE } from '../desired/name.ts';
import { compareProblems, fileProblem, inFile, type Problem } from '../desired/problem.ts';
import type { DesiredObject, DesiredState } from '../desired/state.ts';
import { sameValue } from '../desired/values.ts';
import { changedFields, KIND_NOUNS } from '../plan/describe.ts';
import { parseCommand } from './arguments.ts';
import { countFleet, fleetSettings, problemsFromHere } from './fleet.ts';
import { type ImportedFile, importedFile } from './imported-file.ts';
import { type CommandIo, EXIT, type ExitCode, settingsFrom, UsageError } from './io.ts';
import { type ManagerAddress, type ManagerRecords, readManager } from './manager-records.ts';
import { renderFindings } from './report.ts';
import { listFolder, loadWorkTree } from './work-tree.ts';

/** `holdfast import --from ADDRESS [FOLDER]`: writes what a running manager has as files of a desired state. */
export async function importFleet(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const {
    folder: given,
    format,
    options,
  } = parseCommand('import', args, [{ name: 'from', value: 'ADDRESS' }]);
  const { folder, defaults } = fleetSettings(io, given);
  const records = await readShowing(managerOf(options['from'] as string | undefined, io), io);
  const state = await readFolder(folder, defaults);
  const imports: Import[] = [];
  for (const one of importsOf(records, state, defaults)) imports.push(await written(folder, one));
  const found = imports.flatMap(({ problems }) => problems).sort(compareProblems);
  const problems = problemsFromHere(folder, found);
  const summary = summarize(folder, records, imports);
  io.write(renderFindings({ problems, steps: [], effects: [], summary }, format, io.hasColors));
  if (format === 'text' && imports.some(({ outcome }) => outcome !== 'not written'))
    io.write(nextSteps(folder));
  return problems.length > 0 ? EXIT.problems : EXIT.ok;
}

/** A slow manager with thousands of apps takes minutes: a terminal shows how far it is. */
async function readShowing(manager: ManagerAddress, io: CommandIo): Promise<ManagerRecords> {
  const draw = (text: string): void => {
    if (io.isTerminal) io.complain(`\r\u001b[K${text}`);
  };
  try {
    return await readManager(manager, (kind, done, total) =>
      draw(`read: ${done} of ${total} ${KIND_NOUNS[kind]}s`),
    );
  } finally {
    draw('');
  }
}

function managerOf(from: string | undefined, { env, readFile }: CommandIo): ManagerAddress {
  const base = from?.replace(/\/+$/, '') ?? '';
  if (!isAddress(base))
    throw new UsageError(
      'import takes --from ADDRESS: the http:// or https:// address of a manager, without credentials; those are read from BASIC_AUTH_USER and BASIC_AUTH_PASSWORD',
    );
  const { BASIC_AUTH_USER, BASIC_AUTH_PASSWORD, BASIC_AUTH_PASSWORD_FILE } = env;
  const account = { BASIC_AUTH_USER, BASIC_AUTH_PASSWORD, BASIC_AUTH_PASSWORD_FILE };
  const config = settingsFrom({ env: account, readFile });
  const { BASIC_AUTH_USER: user, BASIC_AUTH_PASSWORD: password } = config;
  return { base, credentials: user === null || password === null ? null : { user, password } };
}

function isAddress(text: string): boolean {
  return /^https?:\/\/[^\s@?#]+$/i.test(text) && URL.canParse(text);
}

/** What lies in the folder, whether git ignores it or not. The folder is made where it is not there yet. */
async function readFolder(folder: string, defaults: AppDefaults): Promise<DesiredState> {
  await unlessInTheWay(mkdir(folder, { recursive: true }));
  return loadWorkTree(folder, await listFolder(folder), defaults, null);
}

interface Import extends Pick<ImportedFile, 'path' | 'text' | 'problems'> {
  outcome: 'written' | 'unchanged' | 'not written';
}

function importsOf(records: ManagerRecords, state: DesiredState, defaults: AppDefaults): Import[] {
  return KINDS.flatMap((kind) =>
    Array.from(records[kind], ([name, record]) => {
      if (record === null) return unnameable(kind, name);
      return beside(importedFile(kind, name, record, defaults, records.app), state.object(kind, name));
    }),
  );
}

function unnameable(kind: Kind, name: string): Import {
  const why = `${KIND_NOUNS[kind]} ${JSON.stringify(name)} is not written: ${NAME_RULE}`;
  const path = dirname(newFilePath(kind, 'name'));
  const problems = [inFile(path, fileProblem('name-invalid', why))];
  return { path, text: '', problems, outcome: 'not written' };
}

/** What becomes of a file, given what lies in the folder under its name. */
function beside(file: ImportedFile, there: DesiredObject | undefined): Import {
  if (file.content === undefined) return { ...file, outcome: 'not written' };
  if (there === undefined) return { ...file, outcome: 'written' };
  if (there.content !== undefined && sameValue(there.content, file.content))
    return { ...file, outcome: 'unchanged' };
  const problems = [...file.problems, differing(there, file.content)];
  return { ...file, problems, outcome: 'not written' };
}

function differing({ path, content }: DesiredObject, wanted: Content): Problem {
  const how =
    content === undefined
      ? 'is not valid'
      : `differs from the manager in ${changedFields(content, wanted).join(', ')}`;
  const message = `${how}, and stays as it is; to import the manager's version, move the file away and import again`;
  return inFile(path, fileProblem('name-duplicate', message));
}

/** Writes a file that is to be written, unless something is in its way that is no object. */
async function written(folder: string, file: Import): Promise<Import> {
  if (file.outcome !== 'written' || (await unlessInTheWay(writeNew(join(folder, file.path), file.text))))
    return file;
  const message = `is not written: a link, or something else, is in its place; move that away and import again`;
  const problems = [...file.problems, inFile(file.path, fileProblem('file-unexpected', message))];
  return { ...file, problems, outcome: 'not written' };
}

/** A commit would have nothing of what lies behind a link. */
async function writeNew(path: string, text: string): Promise<void> {
  const place = dirname(path);
  await mkdir(place, { recursive: true });
  if ((await lstat(place)).isSymbolicLink()) throw Object.assign(new Error(place), { code: 'ENOTDIR' });
  await writeFile(path, text, { flag: 'wx' });
}

/** Whether something could be made; false where something else has its name, or that of a folder above. */
async function unlessInTheWay(making: Promise<unknown>): Promise<boolean> {
  try {
    await making;
    return true;
  } catch (error) {
    if (!['EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return false;
  }
}

function summarize(
  folder: string,
  { app, device_group }: ManagerRecords,
  imports: readonly Import[],
): string {
  const outcomes = (['written', 'unchanged', 'not written'] as const).flatMap((outcome) => {
    const number = imports.filter((one) => one.outcome === outcome).length;
    return number > 0 || outcome === 'written' ? `${number} ${outcome}` : [];
  });
  return `${folder}: ${countFleet(app.size, device_group.size)}: ${outcomes.join(', ')}`;
}

function nextSteps(folder: string): string {
  return `
Next, before a manager starts on these files for the first time:
  holdfast validate ${folder}
  git add ${folder} && git commit

Ids then begin above those of the other manager, and devices restart each container once. What devices and scripts need
before they can change over is in docs/migration.md.
`;
}
