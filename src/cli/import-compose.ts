import { access, rm } from 'node:fs/promises';
import { basename, dirname, join, normalize, resolve } from 'node:path';
import { type ComposeImport, importCompose, type NewFile } from '../compose/import.ts';
import type { Note } from '../compose/notes.ts';
import { decodeText } from '../desired/yaml/document.ts';
import { messageOf } from '../errors.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { closestName } from '../suggest.ts';
import { type CommandArguments, parseCommand } from './arguments.ts';
import { COMMANDS } from './commands.ts';
import { renderImport } from './compose-report.ts';
import { fleetSettings } from './fleet.ts';
import { importFleet } from './import.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from './io.ts';
import { readObjects, tryCreate, writeNew } from './new-files.ts';

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
 * Runs `holdfast import --from-compose FILE [FOLDER]`: writes the services of a Compose file as apps and a device group.
 * If there is an error, or an object of the same name, it writes nothing.
 */
async function importComposeFile(
  file: string,
  { operand: folderArgument, format, options }: CommandArguments,
  io: CommandIo,
): Promise<ExitCode> {
  const { folder, defaults } = fleetSettings(io, folderArgument);
  const group = (options['group'] as string | undefined) ?? null;
  const found = importCompose({ ...readCompose(file, io), group, defaults, suggest: closestName });
  const notes = [...found.notes, ...(await overrideNotes(file))];
  notes.push(...(await existing(folder, found, defaults, basename(file))));
  const isDryRun = options['dry-run'] === true;
  if (!isDryRun && !hasErrors(notes)) notes.push(...(await writeAll(folder, found.files, basename(file))));
  const result = { ...found, notes, files: hasErrors(notes) ? [] : found.files };
  io.write(
    renderImport(result, { file, folder: normalize(folder), isDryRun, format, hasColors: io.hasColors }),
  );
  return hasErrors(notes) ? EXIT.problems : EXIT.ok;
}

function hasErrors(notes: readonly Note[]): boolean {
  return notes.some(({ code }) => code === 'error');
}

function readCompose(file: string, { env, readFile }: CommandIo) {
  const folder = dirname(resolve(file));
  return {
    text: readText(file, readFile),
    file: basename(file),
    folder,
    home: env['HOME'],
    environment: env,
    dotenv: readIfThere(join(folder, '.env'), readFile),
    readFile,
  };
}

/** Reads the Compose file. Throws a UsageError if it cannot be read, or is no text. */
function readText(file: string, readFile: CommandIo['readFile']): string {
  try {
    const decoded = decodeText(Buffer.from(readFile(file)));
    if (decoded.ok) return decoded.value;
    throw new Error(decoded.problems[0]?.message);
  } catch (error) {
    throw new UsageError(`the Compose file ${file} cannot be read: ${messageOf(error)}`);
  }
}

function readIfThere(path: string, readFile: CommandIo['readFile']): string | null {
  try {
    return readFile(path);
  } catch (error) {
    // A folder of that name is one of Python.
    if (['ENOENT', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw new UsageError(`${path} cannot be read: ${messageOf(error)}`);
  }
}

/** Notes a file beside the Compose file that Compose merges into it. */
async function overrideNotes(file: string): Promise<Note[]> {
  const [, name] = /^((?:docker-)?compose)\.ya?ml$/.exec(basename(file)) ?? [];
  if (name === undefined) return [];
  for (const override of [`${name}.override.yaml`, `${name}.override.yml`]) {
    const path = join(dirname(file), override);
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return [noteOf(override, 'check', override, OVERRIDE)];
  }
  return [];
}

const OVERRIDE =
  'is not read, as Compose would: write both into one file with `docker compose config > resolved.yaml`, and import that';

function noteOf(file: string, code: Note['code'], key: string, message: string, place = START): Note {
  return { file, ...place, code, service: null, key, message };
}

const START = { line: 1, column: 1 };

/** Notes each object that exists already. */
async function existing(
  folder: string,
  { files }: ComposeImport,
  defaults: AppDefaults,
  file: string,
): Promise<Note[]> {
  const isThere = await access(folder).then(
    () => true,
    () => false,
  );
  if (!isThere || files.length === 0) return [];
  const state = await readObjects(folder, defaults);
  return files.flatMap(({ kind, name, place }) => {
    const object = state.object(kind, name);
    return object === undefined ? [] : taken({ kind, name, place }, join(folder, object.path), file);
  });
}

const WAYS_OUT = {
  app: 'give the service another name in the Compose file',
  device_group: 'choose another name with --group NAME',
};

function taken(
  { kind, name, place }: Pick<NewFile, 'kind' | 'name' | 'place'>,
  path: string,
  file: string,
): Note {
  const message = `exists already as ${path}; ${WAYS_OUT[kind]}, or move that file away`;
  return noteOf(file, 'error', name, message, place);
}

/** Writes all files, or none: if a path is taken by something that is no object, returns a note. */
async function writeAll(folder: string, files: readonly NewFile[], compose: string): Promise<Note[]> {
  const written: string[] = [];
  try {
    for (const file of files) {
      const path = join(folder, file.path);
      if (!(await tryCreate(writeNew(path, file.text)))) {
        await removeAll(written);
        return [taken(file, path, compose)];
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
