import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Content } from '../../desired/content.ts';
import { newFilePath } from '../../desired/file.ts';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import { compareProblems, fileProblem, type Problem, withFile } from '../../desired/problem.ts';
import type { DesiredObject, DesiredState } from '../../desired/state.ts';
import { changedFields } from '../../plan/describe.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { KINDS, type Kind, keyOf, NAME_RULE } from '../../protocol/name.ts';
import { sameValue } from '../../protocol/values.ts';
import { describeObjects, fleetSettings, prefixProblems } from '../check/fleet.ts';
import { readObjects, tryCreate, writeNew } from '../check/new-files.ts';
import { managerAt } from '../manager/ask.ts';
import { basic, type ManagerAddress, parseAddress } from '../manager/client.ts';
import { type ManagerRecords, readManager } from '../manager/records.ts';
import type { CommandArguments } from '../shell/arguments.ts';
import { type CommandIo, EXIT, type ExitCode, settingsFrom, UsageError } from '../shell/io.ts';
import { renderFindings } from '../shell/report.ts';
import { type ImportedFile, importedFile } from './imported-file.ts';

/**
 * Runs `holdfast import --from ADDRESS [FOLDER]`: writes the objects of a running manager as files of a desired state.
 */
export async function importFleet(
  { operand: folderArgument, format, options }: CommandArguments,
  io: CommandIo,
): Promise<ExitCode> {
  const { folder, defaults } = fleetSettings(io, folderArgument);
  const records = await readWithProgress(managerOf(options, io), io);
  await tryCreate(mkdir(folder, { recursive: true }));
  const state = await readObjects(folder, defaults);
  const imports: Import[] = [];
  for (const planned of planImports(records, state, defaults))
    imports.push(await writeImport(folder, planned));
  const found = imports.flatMap(({ problems }) => problems).sort(compareProblems);
  const problems = prefixProblems(folder, found);
  const summary = summarize(folder, records, imports);
  io.write(renderFindings({ problems, steps: [], effects: [], moves: [], summary }, format, io.hasColors));
  if (format === 'text' && imports.some(({ outcome }) => outcome !== 'not written'))
    io.write(nextSteps(folder));
  return problems.length > 0 ? EXIT.problems : EXIT.ok;
}

/** Reads the manager's records. On a terminal it shows the progress, since a slow manager can take minutes. */
async function readWithProgress(manager: ManagerAddress, io: CommandIo): Promise<ManagerRecords> {
  const draw = (text: string): void => {
    if (io.isTerminal) io.writeError(`\r\u001b[K${text}`);
  };
  try {
    return await readManager(manager, (kind, done, total) =>
      draw(`read: ${done} of ${total} ${DESCRIPTORS[kind].noun}s`),
    );
  } finally {
    draw('');
  }
}

function managerOf(options: CommandArguments['options'], io: CommandIo): ManagerAddress {
  const base = parseAddress(String(options['from'] ?? ''));
  if (base === null)
    throw new UsageError(
      'import takes --from-compose FILE, or --from ADDRESS: the http:// or https:// address of a manager, without credentials; those are read from BASIC_AUTH_USER and BASIC_AUTH_PASSWORD, or as for history',
    );
  const { BASIC_AUTH_USER, BASIC_AUTH_PASSWORD, BASIC_AUTH_PASSWORD_FILE } = io.env;
  const account = { BASIC_AUTH_USER, BASIC_AUTH_PASSWORD, BASIC_AUTH_PASSWORD_FILE };
  const config = settingsFrom({ env: account, readFile: io.readFile });
  const { BASIC_AUTH_USER: user, BASIC_AUTH_PASSWORD: password } = config;
  if (options['token-file'] !== undefined || user === null || password === null)
    return managerAt(base, options, io);
  return {
    base,
    namedBy: null,
    credentials: { ...basic(user, password), from: 'BASIC_AUTH_USER and BASIC_AUTH_PASSWORD' },
  };
}

interface Import extends Pick<ImportedFile, 'path' | 'text' | 'problems'> {
  outcome: 'written' | 'unchanged' | 'not written';
}

function planImports(records: ManagerRecords, state: DesiredState, defaults: AppDefaults): Import[] {
  return KINDS.flatMap((kind) =>
    Array.from(records[kind], ([name, record]) => {
      if (record === null) return invalidName(kind, name);
      return withOutcome(importedFile(kind, name, record, defaults, records.app), state.object(kind, name));
    }),
  );
}

function invalidName(kind: Kind, name: string): Import {
  const message = `${DESCRIPTORS[kind].noun} ${JSON.stringify(name)} is not written: ${NAME_RULE}`;
  const path = dirname(newFilePath(kind, 'name'));
  const problems = [withFile(path, fileProblem('name-invalid', message))];
  return { path, text: '', problems, outcome: 'not written' };
}

/** Decides whether a file is to be written, given the object of the same name in the folder. */
function withOutcome(file: ImportedFile, existing: DesiredObject | undefined): Import {
  if (file.content === undefined) return { ...file, outcome: 'not written' };
  if (existing === undefined) return { ...file, outcome: 'written' };
  if (existing.content !== undefined && sameValue(existing.content, file.content))
    return { ...file, outcome: 'unchanged' };
  const problems = [...file.problems, differenceProblem(existing, file.content)];
  return { ...file, problems, outcome: 'not written' };
}

function differenceProblem({ path, content }: DesiredObject, imported: Content): Problem {
  const difference =
    content === undefined
      ? 'is not valid'
      : `differs from the manager in ${changedFields(content, imported).join(', ')}`;
  const message = `${difference}, and stays as it is; to import the manager's version, move the file away and import again`;
  return withFile(path, fileProblem('name-duplicate', message));
}

/**
 * Writes a file if that is its outcome. If a link, or anything else that is not an object, has its path, reports that.
 */
async function writeImport(folder: string, file: Import): Promise<Import> {
  if (file.outcome !== 'written' || (await tryCreate(writeNew(join(folder, file.path), file.text))))
    return file;
  const message = `is not written: a link, or something else, is in its place; move that away and import again`;
  const problems = [...file.problems, withFile(file.path, fileProblem('file-unexpected', message))];
  return { ...file, problems, outcome: 'not written' };
}

function summarize(folder: string, records: ManagerRecords, imports: readonly Import[]): string {
  const outcomes = (['written', 'unchanged', 'not written'] as const).flatMap((outcome) => {
    const number = imports.filter((file) => file.outcome === outcome).length;
    return number > 0 || outcome === 'written' ? `${number} ${outcome}` : [];
  });
  const keys = KINDS.flatMap((kind) => Array.from(records[kind].keys(), (name) => keyOf(kind, name)));
  return `${folder}: ${describeObjects(keys)}: ${outcomes.join(', ')}`;
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
