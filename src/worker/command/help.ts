import { settingsHelp } from '../../settings/help.ts';
import { hanging, twoColumns, wrap } from '../../text/wrap.ts';
import { WORKER_SETTINGS } from '../settings.ts';

const COMMANDS = [
  ['holdfast worker [--flag VALUE ...]', 'run the worker'],
  [
    'holdfast worker --once [--flag VALUE ...]',
    'run until the device is up to date or has to wait, then exit',
  ],
  ['holdfast worker --dry-run [--flag VALUE ...]', 'show what this device would do, and do nothing'],
  ['holdfast worker status [--json]', 'show what the worker of this device does'],
  ['holdfast worker retry APP', 'try again what failed, also a version that was taken back'],
  ['holdfast worker forget-ids', 'forget the ids of a manager that was set up again'],
] as const;

const NOTES = [
  'status, retry and forget-ids ask the running worker. The only setting they read is DATA_DIR.',
  'The worker needs the socket of a container engine, which is equivalent to root on this device. When it ends, all',
  'containers go on running.',
];

const EXIT_CODES = [
  ['0', 'as wanted; the worker was stopped'],
  [
    '1',
    'status and --once: not everything is as wanted; status: the manager is lost; retry: there is no such app',
  ],
  ['2', 'wrong usage or settings; another worker uses DATA_DIR'],
  [
    '3',
    'status, retry, forget-ids: no worker runs; --once and --dry-run: engine or manager away; the command itself failed',
  ],
] as const;

/** Returns the help of `holdfast worker`, in lines of at most `width` characters. */
export function workerHelp(width: number): string {
  const parts = [
    wrap('holdfast worker: the agent on a device, which runs the containers of its device group', width).join(
      '\n',
    ),
    ['Usage', ...COMMANDS.flatMap(([usage, does]) => [`  ${usage}`, ...hanging('', does, 6, width)])].join(
      '\n',
    ),
    wrap(NOTES.join(' '), width).join('\n'),
    `Exit codes\n${twoColumns(EXIT_CODES, width)}`,
    settingsHelp(WORKER_SETTINGS, 'worker', width),
  ];
  return parts.join('\n\n');
}
