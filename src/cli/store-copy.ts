import { parseArgs } from 'node:util';
import type { Config } from '../settings.ts';
import { type CommandIo, EXIT, type ExitCode, settingsFrom, UsageError } from './io.ts';

/** How far a copy is: so many rows of a part are there, of which an earlier run had copied some. */
interface CopyProgress {
  part: string;
  rows: number;
  there: number;
  isCheck: boolean;
}

/** Copies a store; told how far it is. Resolves to how many rows of each part are copied. */
export type CopyStore = (
  config: Config,
  to: string,
  tell: (progress: CopyProgress) => void,
) => Promise<Record<string, { rows: number; there: number }>>;

/** `holdfast store copy --to TARGET`: the store of the settings goes there. */
export async function storeCopy(args: readonly string[], io: CommandIo, copy: CopyStore): Promise<ExitCode> {
  const to = targetOf(args);
  const copied = await copy(settingsFrom(io), to, ({ part, rows, there, isCheck }) => {
    const text = `${isCheck ? 'verified' : 'copied'}: ${countOf(part, rows, isCheck ? 0 : there)}`;
    if (io.isTerminal) io.complain(`\r\u001b[K${text}`);
  });
  if (io.isTerminal) io.complain('\r\u001b[K');
  const parts = Object.entries(copied).map(([part, { rows, there }]) => countOf(part, rows, there));
  io.write(`copied and verified: ${parts.join(', ')}\n`);
  return EXIT.ok;
}

function countOf(part: string, rows: number, there: number): string {
  return `${rows} ${part}${there > 0 ? ` (${there} already copied)` : ''}`;
}

/** An address of something, by its look. */
const ADDRESS = /^[\w+.-]+:\/|:[^/]*@/;
const MONGO_ADDRESS = /^mongodb(\+srv)?:\/\//;

const MONGO = 'mongodb:// or mongodb+srv:// address';

/** The argument may hold a password: it is never repeated. */
function targetOf(args: readonly string[]): string {
  const [command, ...rest] = args;
  if (command !== 'copy') throw new UsageError('store has one subcommand: store copy --to TARGET');
  const to = valueOfTo(rest);
  if (to === undefined || to === '')
    throw new UsageError(`store copy takes --to TARGET and nothing else: a ${MONGO}, or a data folder`);
  if (ADDRESS.test(to) && !MONGO_ADDRESS.test(to))
    throw new UsageError(`store copy --to TARGET: the target is neither a ${MONGO} nor a data folder`);
  return to;
}

function valueOfTo(args: string[]): string | undefined {
  try {
    return parseArgs({ args, options: { to: { type: 'string' } } }).values.to;
  } catch {
    return undefined;
  }
}
