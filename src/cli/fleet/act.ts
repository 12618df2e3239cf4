import * as z from 'zod';
import { NAME_PATTERN } from '../../protocol/name.ts';
import { readFrom, requireManager, sendTo } from '../manager/replies.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { count } from './judge-status.ts';

/** What a command does to an app. */
export type AppAct = 'restart' | 'start' | 'stop';

const Effects = z.object({
  effects: z.array(
    z.object({ action: z.string(), groups: z.array(z.string()), devices: z.int().nullable() }),
  ),
});
const App = z.object({ app_id: z.int() });

/** Runs `holdfast restart|start|stop APP`. */
export async function actOnApp(act: AppAct, args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, options } = parseCommand(COMMANDS[act], args);
  const name = nameOf(operand, act, 'APP');
  const manager = requireManager(options, io);
  const query = queryOf(options);
  if (options['dry-run'] === true) {
    const { effects } = await sendTo(manager, `apps/${name}/${act}?${query}`, Effects);
    io.write(
      `${effects.map((effect) => effectText(name, effect)).join('\n') || `nothing would change: app ${name}`}\n`,
    );
    return EXIT.ok;
  }
  const { app_id: id } = await sendTo(manager, `apps/${name}/${act}?${query}`, App);
  io.write(`app ${name}: ${act} sent, app_id ${id}\n`);
  return EXIT.ok;
}

function effectText(
  app: string,
  { action, groups, devices }: z.infer<typeof Effects>['effects'][number],
): string {
  const on = devices === null ? '' : `: ${count(devices, 'device')}`;
  return `${app} would ${action} on ${groups.join(', ')}${on}`;
}

/** Runs `holdfast prune [GROUP]`: removes unused images on the devices of a group, or on all. */
export async function prune(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, options } = parseCommand(COMMANDS.prune, args);
  const group = operand === undefined ? null : nameOf(operand, 'prune', 'GROUP');
  const manager = requireManager(options, io);
  const path = group === null ? 'prune' : `device_groups/${group}/prune`;
  if (options['dry-run'] === true) {
    await sendTo(manager, `${path}?${queryOf(options)}`, z.looseObject({}));
    const groups = group === null ? await groupNames(manager) : [group];
    io.write(`${count(groups.length, 'device group')} would remove unused images\n`);
    return EXIT.ok;
  }
  await sendTo(manager, `${path}?${queryOf(options)}`, z.looseObject({}));
  io.write(`${group === null ? 'all device groups' : `device group ${group}`}: prune sent\n`);
  return EXIT.ok;
}

async function groupNames(manager: Parameters<typeof readFrom>[0]): Promise<string[]> {
  return (await readFrom(manager, 'device_groups', z.object({ device_groups: z.array(z.string()) })))
    .device_groups;
}

function nameOf(operand: string | undefined, command: string, placeholder: string): string {
  if (operand === undefined)
    throw new UsageError(`name what to ${command}: holdfast ${command} ${placeholder}`);
  if (NAME_PATTERN.test(operand)) return operand;
  throw new UsageError(`"${operand}" is no name of an app or device group`);
}

function queryOf(options: Readonly<Record<string, string | boolean | undefined>>): URLSearchParams {
  const { reason } = options;
  return new URLSearchParams({
    ...(typeof reason === 'string' && { reason }),
    ...(options['dry-run'] === true && { dry_run: 'true' }),
  });
}
