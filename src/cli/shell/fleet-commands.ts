import { DEVICE_STATES } from '../../protocol/device.ts';
import { INVENTORY_SORTS, INVENTORY_STATES } from '../../protocol/inventory.ts';
import {
  type Command,
  DEVICE,
  DRY_RUN,
  MANAGER_FILE,
  REASON,
  SERVER,
  TEXT_OR_JSON,
  TOKEN_FILE,
} from './command.ts';

/** What asks and changes the fleet of a manager. */
export const FLEET_COMMANDS = {
  status: {
    name: 'status',
    summary: 'say how the fleet is: what is applied, what is wrong, who lags',
    options: [
      { name: 'watch', meaning: 'look again every 5 seconds, until Ctrl-C' },
      {
        name: 'allow-silent',
        value: 'NUMBER',
        meaning: 'how many devices may be silent, or which share of them (5%); none by default',
      },
      SERVER,
      TOKEN_FILE,
      TEXT_OR_JSON,
    ],
    details: [
      'For people and for monitors. The fleet is not fine while a file has a problem, the last pass failed, a device is failed or silent,',
      'or a device has been behind for more than 15 minutes.',
      ...MANAGER_FILE,
    ],
    examples: [['holdfast status --allow-silent 5%', 'for a monitor']],
    problems: 'the fleet is not fine',
  },
  apps: {
    name: 'apps',
    summary: 'list the apps: how many devices have the last change of each',
    options: [
      { name: 'group', value: 'NAME', meaning: 'only those that this device group lists' },
      { name: 'state', value: 'STATE', meaning: 'only those in this state', choices: INVENTORY_STATES },
      { name: 'sort', value: 'ORDER', meaning: 'name by default', choices: INVENTORY_SORTS },
      SERVER,
      TOKEN_FILE,
      TEXT_OR_JSON,
    ],
    details: MANAGER_FILE,
    examples: [['holdfast apps --sort behind', 'what is being rolled out']],
  },
  devices: {
    name: 'devices',
    summary: 'list the devices: what each has, lacks and fails at',
    options: [
      { name: 'group', value: 'NAME', meaning: 'only those of this device group' },
      { name: 'state', value: 'STATE', meaning: 'only those in this state', choices: DEVICE_STATES },
      {
        name: 'app',
        value: 'NAME',
        meaning:
          'only those whose group lists this app; with --state behind or failed, those that lack it or on which it fails',
      },
      { name: 'worker', value: 'VERSION', meaning: 'only those whose worker has this version' },
      SERVER,
      TOKEN_FILE,
      TEXT_OR_JSON,
    ],
    details: MANAGER_FILE,
    examples: [['holdfast devices --app web --state behind', 'who does not have the last change of web yet']],
  },
  restart: {
    name: 'restart',
    summary: 'restart an app on all devices that run it',
    operand: { name: 'APP', meaning: 'the name of the app', choices: [] },
    options: [REASON, DRY_RUN, SERVER, TOKEN_FILE],
    details: [
      'Raises the id of the app, without a commit: devices pull its image again and replace its containers.',
      ...MANAGER_FILE,
    ],
  },
  start: {
    name: 'start',
    summary: 'start an app that is stopped',
    operand: { name: 'APP', meaning: 'the name of the app', choices: [] },
    options: [REASON, DRY_RUN, SERVER, TOKEN_FILE],
    details: ['Makes a commit: running becomes true.', ...MANAGER_FILE],
  },
  stop: {
    name: 'stop',
    summary: 'stop an app on all devices that run it',
    operand: { name: 'APP', meaning: 'the name of the app', choices: [] },
    options: [REASON, DRY_RUN, SERVER, TOKEN_FILE],
    details: [
      'Makes a commit: running becomes false. The containers are removed, named volumes stay.',
      ...MANAGER_FILE,
    ],
  },
  logs: {
    name: 'logs',
    summary: 'print the last lines that an app wrote on a device',
    operand: { name: 'APP', meaning: 'the name of the app', choices: [] },
    options: [
      DEVICE,
      { name: 'container', value: 'NAME', meaning: 'only this container, such as web-2' },
      { name: 'lines', short: 'n', value: 'NUMBER', meaning: 'how many at most, up to 2000; 200 by default' },
      { name: 'since', value: 'TIME', meaning: 'only newer lines: 10m, 2h, or a time' },
      { name: 'follow', short: 'f', meaning: 'go on with new lines, until Ctrl-C' },
      SERVER,
      TOKEN_FILE,
    ],
    details: [
      'The device answers at its next poll: no connection is opened to it. What it answers is kept for 15 minutes.',
      ...MANAGER_FILE,
    ],
    examples: [['holdfast logs web --device till-0412 --since 10m', '']],
  },
  retry: {
    name: 'retry',
    summary: 'have a device try a version again that it took back or gave up',
    operand: { name: 'APP', meaning: 'the name of the app', choices: [] },
    options: [DEVICE, SERVER, TOKEN_FILE],
    details: ['The device answers at its next poll.', ...MANAGER_FILE],
  },
  prune: {
    name: 'prune',
    summary: 'remove unused images on the devices of a group, or on all',
    operand: { name: '[GROUP]', meaning: 'the name of a device group; all by default', choices: [] },
    options: [REASON, DRY_RUN, SERVER, TOKEN_FILE],
    details: MANAGER_FILE,
  },
} as const satisfies Readonly<Record<string, Command>>;
