import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastError } from '../../errors.ts';
import { type AskBody, AskRecord, MadeAsk } from '../../protocol/ask.ts';
import { NAME_PATTERN } from '../../protocol/name.ts';
import { printable } from '../../text/printable.ts';
import type { ManagerAddress } from '../manager/client.ts';
import { readFrom, requireManager, sendTo } from '../manager/replies.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';

/** Milliseconds between two looks for an answer, and between two asks with `--follow`. */
const LOOKING = 1000;
const FOLLOWING = 5000;
const DEFAULT_LINES = 200;
const MOST_LINES = 2000;

/** Runs `holdfast logs APP --device D`: asks the device for the last lines of an app, and prints them. */
export async function logs(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, options } = parseCommand(COMMANDS.logs, args);
  const { app, device } = subjectOf(operand, options, 'logs');
  const { lines, since, container } = options;
  const body: AskBody = {
    kind: 'logs',
    app,
    lines: linesOf(lines as string | undefined),
    ...(since !== undefined && { since: String(since) }),
    ...(container !== undefined && { container: String(container) }),
  };
  const manager = requireManager(options, io);
  io.writeError(`Asked ${device}; it answers at its next poll.\n`);
  const answer = await ask(manager, device, body);
  if (answer.truncated) io.writeError('Older lines were left out: --lines, --since\n');
  let last = write(answer, '', io);
  // Ctrl-C ends it.
  while (options['follow'] === true) {
    await sleep(FOLLOWING);
    last = write(await ask(manager, device, { ...body, ...(last !== '' && { since: last }) }), last, io);
  }
  return EXIT.ok;
}

/** Runs `holdfast retry APP --device D`: has the device try a version again that it gave up. */
export async function retry(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, options } = parseCommand(COMMANDS.retry, args);
  const { app, device } = subjectOf(operand, options, 'retry');
  const manager = requireManager(options, io);
  io.writeError(`Asked ${device}; it answers at its next poll.\n`);
  const { text } = await ask(manager, device, { kind: 'retry', app });
  io.write(`${printable(text ?? '') || `${device} tries ${app} again`}\n`);
  return EXIT.ok;
}

/** Asks, and waits for the answer. Rejects as `unavailable` if the device does not do it, or does not answer. */
async function ask(manager: ManagerAddress, device: string, body: AskBody): Promise<AskRecord> {
  const { id } = await sendTo(manager, `devices/${device}/asks`, MadeAsk, body);
  for (;;) {
    const found = await readFrom(manager, `devices/${device}/asks/${id}`, AskRecord);
    if (found.state === 'done') return found;
    if (found.state === 'failed')
      throw new HoldfastError('unavailable', `${device}: ${printable(found.error ?? '')}`);
    if (found.state === 'expired')
      throw new HoldfastError(
        'unavailable',
        `${device} has not answered within 10 minutes; holdfast devices says when it was last seen`,
      );
    await sleep(LOOKING);
  }
}

/** Writes the lines that are newer than `last`, the time of a line; returns that of the newest one. */
function write({ text }: AskRecord, last: string, io: CommandIo): string {
  const lines = (text ?? '').split('\n').filter((line) => line !== '' && timeOf(line) > last);
  for (const line of lines) io.write(`${printable(line)}\n`);
  return lines.length === 0 ? last : timeOf(lines.at(-1) ?? '');
}

/** Each line begins with its time (RFC 3339). */
function timeOf(line: string): string {
  return line.slice(0, line.indexOf(' '));
}

function subjectOf(
  app: string | undefined,
  { device }: Readonly<Record<string, string | boolean | undefined>>,
  command: string,
): { app: string; device: string } {
  if (app === undefined || typeof device !== 'string')
    throw new UsageError(`name an app and a device: holdfast ${command} APP --device DEVICE`);
  const wrong = [app, device].find((name) => !NAME_PATTERN.test(name));
  if (wrong !== undefined) throw new UsageError(`"${wrong}" is no name of an app or device`);
  return { app, device };
}

function linesOf(text: string | undefined): number {
  const lines = text === undefined ? DEFAULT_LINES : Number(text);
  if (Number.isSafeInteger(lines) && lines > 0 && lines <= MOST_LINES) return lines;
  throw new UsageError(`--lines must be a whole number from 1 to ${MOST_LINES}, not "${text}"`);
}
