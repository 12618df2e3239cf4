import { dirname, isAbsolute, join, resolve } from 'node:path';
import { readYaml, type YamlSource } from '../../desired/yaml/document.ts';
import { isMapValue } from '../../protocol/values.ts';
import { closestName } from '../../suggest.ts';
import { printable } from '../../text/printable.ts';
import { type CommandIo, UsageError } from '../shell/io.ts';
import { parseAddress } from './client.ts';

/** What `~/.config/holdfast.yaml` says. Places are for messages: file, line and column. */
export interface ManagerFile {
  path: string;
  server: string | null;
  credentials: { text: string; place: string; isExposed: boolean } | null;
  /** Its path is absolute. */
  tokenFile: { path: string; place: string } | null;
}

const MEMBERS = ['server', 'credentials', 'token_file'] as const;
/** Any access of the group and of others, as ssh sees it. */
const OTHERS = 0o077;

/**
 * Reads the user's file with the address and the credentials of a manager; null if there is none. Throws a UsageError, without
 * values, that names the line of what is wrong.
 */
export function readManagerFile({
  env,
  readFile,
  fileMode,
}: Pick<CommandIo, 'env' | 'readFile' | 'fileMode'>): ManagerFile | null {
  const { XDG_CONFIG_HOME: configured = '', HOME: home = '' } = env;
  const folder = isAbsolute(configured) ? configured : home === '' ? null : join(home, '.config');
  if (folder === null) return null;
  const path = join(folder, 'holdfast.yaml');
  const text = textOf(path, readFile);
  return text === null
    ? null
    : parseManagerFile(text, { path, home, isExposed: () => isExposed(fileMode(path)) });
}

/** Windows has no such bits. */
function isExposed(mode: number | null): boolean {
  return mode !== null && (mode & OTHERS) !== 0;
}

function textOf(path: string, readFile: CommandIo['readFile']): string | null {
  try {
    return readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new UsageError(`${path} cannot be read: ${code ?? 'it is no file'}`);
  }
}

function parseManagerFile(
  text: string,
  { path, home, isExposed: readsExposed }: { path: string; home: string; isExposed(): boolean },
): ManagerFile {
  const members = membersOf(text, path);
  const [server, credentials, token] = MEMBERS.map((name) => members.get(name) ?? null);
  if (credentials != null && token != null)
    throw new UsageError(`${token.place}: credentials and token_file cannot both be there; remove one`);
  const base = server == null ? null : parseAddress(server.text);
  if (server != null && base === null)
    throw new UsageError(
      `${server.place}: server must be the http:// or https:// address of a manager, without credentials`,
    );
  return {
    path,
    server: base,
    credentials: credentials == null ? null : { ...credentials, isExposed: readsExposed() },
    tokenFile:
      token == null
        ? null
        : { place: token.place, path: resolve(dirname(path), token.text.replace(/^~(?=\/)/, home)) },
  };
}

type Member = { text: string; place: string };

/** Returns the members that are there, each with its place. */
function membersOf(text: string, path: string): Map<string, Member> {
  const read = readYaml(text);
  if (!read.ok) {
    const [first] = read.problems;
    throw new UsageError(`${path}:${first?.line ?? 1}:${first?.column ?? 1}: ${first?.message}`);
  }
  const { value, positionOf } = read.value;
  if (value === null) return new Map();
  if (!isMapValue(value)) throw new UsageError(`${path}:1:1: must have the members ${MEMBERS.join(', ')}`);
  return new Map(
    Object.entries(value).map(([name, member]) => [name, memberOf(name, member, positionOf, path)]),
  );
}

function memberOf(name: string, value: unknown, positionOf: YamlSource['positionOf'], path: string): Member {
  const { line, column } = positionOf([name]);
  const place = `${path}:${line}:${column}`;
  if (!MEMBERS.some((member) => member === name)) {
    const closest = closestName(name, MEMBERS);
    const hint = closest === null ? `; the members are ${MEMBERS.join(', ')}` : `; did you mean ${closest}?`;
    throw new UsageError(`${place}: "${printable(name)}" is no member of this file${hint}`);
  }
  if (typeof value === 'string' && value !== '') return { text: value, place };
  throw new UsageError(`${place}: ${name} must be a text; put it in quotes`);
}
