import { access, rm } from 'node:fs/promises';
import { dirname, join, normalize, resolve } from 'node:path';
import { type ComposeImport, importProject, type NewFile } from '../../compose/import.ts';
import { hasErrors, type Note } from '../../compose/notes.ts';
import { type Project, readProject } from '../../compose/project.ts';
import { type OutsideVariable, outsideVariables } from '../../compose/variables.ts';
import { messageOf } from '../../errors.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Kind } from '../../protocol/name.ts';
import { printable } from '../../text/printable.ts';
import { fleetSettings } from '../check/fleet.ts';
import { readObjects, tryCreate, writeNew } from '../check/new-files.ts';
import { type CommandArguments, parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { askCompose, ComposeError, type ComposeOutput } from './compose-program.ts';
import { renderImport } from './compose-report.ts';
import { importFleet } from './import.ts';

/** Runs `holdfast import`, from a manager or from a Compose file. */
export async function runImport(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const parsed = parseCommand(COMMANDS.import, args);
  const { from, 'from-compose': file, group, 'dry-run': isDryRun } = parsed.options;
  if (file !== undefined && from !== undefined)
    throw new UsageError('import takes --from or --from-compose, not both');
  if (file !== undefined && parsed.options['token-file'] !== undefined)
    throw new UsageError('--token-file belongs to --from ADDRESS');
  if (file !== undefined) return importComposeFile(String(file), parsed, io);
  if (group !== undefined || isDryRun === true)
    throw new UsageError('--group and --dry-run belong to --from-compose FILE');
  return importFleet(parsed, io);
}

/**
 * Runs `holdfast import --from-compose FILE [FOLDER]`: writes the services of a Compose project as apps and a device group.
 * If there is an error, or an object of the same name, it writes nothing.
 */
async function importComposeFile(
  file: string,
  { operand: folderArgument, format, options }: CommandArguments,
  io: CommandIo,
): Promise<ExitCode> {
  const { folder, defaults } = fleetSettings(io, folderArgument);
  const group = (options['group'] as string | undefined) ?? null;
  const { project, variables } = await projectOf(file, io);
  const ownFolders = [file === '-' ? process.cwd() : dirname(resolve(file)), io.env['HOME'] ?? ''];
  const found = importProject(project, {
    group,
    defaults,
    ownFolders: ownFolders.filter((own) => own.length > 1),
  });
  const notes = [...found.notes, ...(await existing(folder, found, defaults))];
  const isDryRun = options['dry-run'] === true;
  if (!isDryRun && !hasErrors(notes)) notes.push(...(await writeAll(folder, found.files)));
  const result = { ...found, notes, variables, files: hasErrors(notes) ? [] : found.files };
  io.write(
    renderImport(result, { file, folder: normalize(folder), isDryRun, format, hasColors: io.hasColors }),
  );
  return hasErrors(notes) ? EXIT.problems : EXIT.ok;
}

/** The project of a file, and the variables whose values come from outside it; null if that cannot be told. */
interface FoundProject {
  project: Project;
  variables: OutsideVariable[] | null;
}

async function projectOf(file: string, io: CommandIo): Promise<FoundProject> {
  const output = file === '-' ? null : await composeOutput(file, io);
  const project = readProject(output?.resolved ?? readText(file, io.readFile));
  if (project === null) throw new UsageError(notResolved(file));
  if (output === null || output.raw === null || output.environment === null)
    return { project, variables: null };
  const set = new Set(output.environment.split('\n').map((line) => line.replace(/=.*/, '')));
  return { project, variables: outsideVariables(JSON.parse(output.raw), project, set) };
}

async function composeOutput(file: string, io: CommandIo): Promise<ComposeOutput | null> {
  // A file that cannot be read is an error of ours, whether Compose is there or not.
  readText(file, io.readFile);
  try {
    const output = await askCompose(file, io.env);
    io.writeError(printable(output?.warnings ?? ''));
    return output;
  } catch (error) {
    if (error instanceof ComposeError)
      throw new UsageError(`Docker Compose does not accept ${file}: ${printable(error.message)}`);
    throw error;
  }
}

function notResolved(file: string): string {
  const name = file === '-' ? 'the standard input' : file;
  const source = file === '-' ? 'compose.yaml' : file;
  return `${name} is not the output of Docker Compose, which is not installed here. Where it is, run "docker compose -f ${source} config > resolved.yaml", and import resolved.yaml`;
}

/** Reads the file; `-` is the standard input. Throws a UsageError if it cannot be read. */
function readText(file: string, readFile: CommandIo['readFile']): string {
  try {
    return readFile(file === '-' ? '/dev/stdin' : file);
  } catch (error) {
    throw new UsageError(`the Compose file ${file} cannot be read: ${messageOf(error)}`);
  }
}

/** Notes each object that exists already. */
async function existing(folder: string, { files }: ComposeImport, defaults: AppDefaults): Promise<Note[]> {
  const isThere = await access(folder).then(
    () => true,
    () => false,
  );
  if (!isThere || files.length === 0) return [];
  const state = await readObjects(folder, defaults);
  return files.flatMap((file) => {
    const object = state.object(file.kind, file.name);
    return object === undefined ? [] : taken(file, join(folder, object.path));
  });
}

/** A Compose file has no devices. */
const WAYS_OUT: Partial<Record<Kind, string>> = {
  app: 'give the service another name in the Compose file',
  device_group: 'choose another name with --group NAME',
};

function taken({ kind, name }: NewFile, path: string): Note {
  const message = `exists already as ${path}; ${WAYS_OUT[kind]}, or move that file away`;
  return { code: 'error', service: null, key: name, message };
}

/** Writes all files, or none: if a path is taken by something that is no object, returns a note. */
async function writeAll(folder: string, files: readonly NewFile[]): Promise<Note[]> {
  const written: string[] = [];
  try {
    for (const file of files) {
      const path = join(folder, file.path);
      if (!(await tryCreate(writeNew(path, file.text)))) {
        await removeAll(written);
        return [taken(file, path)];
      }
      written.push(path);
    }
    return [];
  } catch (error) {
    await removeAll(written);
    throw error;
  }
}

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}
