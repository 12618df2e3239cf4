import { setTimeout as sleep } from 'node:timers/promises';
import { escapeWorkflowCommands } from '../../text/printable.ts';
import type { ManagerAddress } from '../manager/client.ts';
import { requireManager } from '../manager/replies.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { painter } from '../shell/report.ts';
import { type Allowance, reasonsOf } from './judge-status.ts';
import { readStatus } from './read-status.ts';
import { statusText } from './status-text.ts';

/** Milliseconds between two looks with `--watch`. */
const INTERVAL = 5000;
/** Moves to the top left corner, and clears what is below. */
const CLEAR = '\u001b[H\u001b[J';

/** Runs `holdfast status`: says how the fleet is, and exits with 1 if it is not fine. */
export async function status(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { format, options } = parseCommand<'text' | 'json'>(COMMANDS.status, args);
  const allowance = allowanceOf(options['allow-silent'] as string | undefined);
  const manager = requireManager(options, io);
  const look = (): Promise<Look> => lookAt(manager, allowance, format, io);
  if (options['watch'] !== true) {
    const { text, isFine } = await look();
    io.write(text);
    return isFine ? EXIT.ok : EXIT.problems;
  }
  // Ctrl-C ends it.
  for (let last = ''; ; await sleep(INTERVAL)) {
    const { text } = await look();
    if (text !== last) io.write(io.columns === null || format === 'json' ? text : CLEAR + text);
    last = text;
  }
}

interface Look {
  text: string;
  isFine: boolean;
}

async function lookAt(
  manager: ManagerAddress,
  allowance: Allowance,
  format: 'text' | 'json',
  io: CommandIo,
): Promise<Look> {
  const found = await readStatus(manager);
  const reasons = reasonsOf(found, allowance, io.now());
  const isFine = reasons.length === 0;
  const { longestBehind: _, ...shown } = found;
  const text =
    format === 'json'
      ? `${escapeWorkflowCommands(JSON.stringify({ fine: isFine, reasons, ...shown }, null, 2))}\n`
      : statusText(found, reasons, io.now(), painter(io.hasColors));
  return { text, isFine };
}

function allowanceOf(text = '0'): Allowance {
  const [, number, percent] = /^(\d{1,7})(%?)$/.exec(text) ?? [];
  if (number === undefined || (percent === '%' && Number(number) > 100))
    throw new UsageError(`--allow-silent takes a number or a share such as 5%, not "${text}"`);
  return percent === '%' ? { share: Number(number) / 100 } : { number: Number(number) };
}
