import { parseArgs } from 'node:util';
import type { Config } from '../settings.ts';
import { type CommandIo, EXIT, type ExitCode, settingsFrom, UsageError } from './io.ts';

/** The progress of a copy. */
interface CopyProgress {
  part: string;
  /** How many rows of the part are at the target, or are compared. */
  rows: number;
  /** How many of them an earlier run had copied. */
  alreadyCopied: number;
  /** Whether the rows are being compared. */
  isCheck: boolean;
}

/** Copies the configured store. Resolves to the number of rows of each part. */
export type CopyStore = (
  config: Config,
  to: string,
  onProgress: (progress: CopyProgress) => void,
) => Promise<Record<string, { rows: number; alreadyCopied: number }>>;

/** Runs `holdfast store copy --to TARGET`: copies the configured store to the target. */
export async function storeCopy(args: readonly string[], io: CommandIo, copy: CopyStore): Promise<ExitCode> {
  const to = targetOf(args);
  const copied = await copy(settingsFrom(io), to, ({ part, rows, alreadyCopied, isCheck }) => {
    const text = `${isCheck ? 'verified' : 'copied'}: ${describePart(part, rows, isCheck ? 0 : alreadyCopied)}`;
    if (io.isTerminal) io.writeError(`\r\u001b[K${text}`);
  });
  if (io.isTerminal) io.writeError('\r\u001b[K');
  const parts = Object.entries(copied).map(([part, { rows, alreadyCopied }]) =>
    describePart(part, rows, alreadyCopied),
  );
  io.write(`copied and verified: ${parts.join(', ')}\n`);
  return EXIT.ok;
}

function describePart(part: string, rows: number, alreadyCopied: number): string {
  return `${rows} ${part}${alreadyCopied > 0 ? ` (${alreadyCopied} already copied)` : ''}`;
}

/** Matches a text that looks like an address, and not like a path. */
const ADDRESS = /^[\w+.-]+:\/|:[^/]*@/;
const MONGO_ADDRESS = /^mongodb(\+srv)?:\/\//;

const MONGO = 'mongodb:// or mongodb+srv:// address';

/** Parses the target. Errors never repeat it, since it can contain a password. */
function targetOf(args: readonly string[]): string {
  const [command, ...rest] = args;
  if (command !== 'copy') throw new UsageError('store has one subcommand: store copy --to TARGET');
  const to = parseTo(rest);
  if (to === undefined || to === '')
    throw new UsageError(`store copy takes --to TARGET and nothing else: a ${MONGO}, or a data folder`);
  if (ADDRESS.test(to) && !MONGO_ADDRESS.test(to))
    throw new UsageError(`store copy --to TARGET: the target is neither a ${MONGO} nor a data folder`);
  return to;
}

function parseTo(args: string[]): string | undefined {
  try {
    return parseArgs({ args, options: { to: { type: 'string' } } }).values.to;
  } catch {
    return undefined;
  }
}
