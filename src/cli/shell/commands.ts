import { SETTINGS } from '../../settings/table.ts';
import { WORKER_SETTINGS } from '../../worker/settings.ts';
import {
  ASKING,
  type Command,
  DESIRED_STATE_OPTION,
  FOLDER,
  FORMAT,
  SERVER,
  TEXT_OR_JSON,
  TOKEN_FILE,
  WATCH,
} from './command.ts';
import { FLEET_COMMANDS } from './fleet-commands.ts';
import { FORMATS } from './report.ts';

/** Every command, in the order of the help. */
export const COMMANDS = {
  serve: {
    name: 'serve',
    summary: 'run the manager',
    options: [],
    settings: SETTINGS,
    details: [
      'SIGTERM or SIGINT (Ctrl-C) shuts it down cleanly. A second signal, more than a second later, ends it at once with exit code 3.',
    ],
    examples: [['holdfast serve --port 9000 --desired-state /srv/fleet/desired-state', '']],
  },
  validate: {
    name: 'validate',
    summary: 'check the files of a desired state',
    operand: FOLDER,
    options: [FORMAT, WATCH],
    details: [
      'Needs no server and no store. Reads the folder as if everything in it were committed. Warnings do not fail the check.',
      'The only settings it reads are DESIRED_STATE and DEFAULT_NETWORKS.',
    ],
    problems: 'problems found',
  },
  plan: {
    name: 'plan',
    summary: 'show what a desired state would change',
    operand: FOLDER,
    options: [
      {
        name: 'against',
        value: 'REVISION',
        meaning: 'the commit, branch or tag to compare with; HEAD by default',
      },
      { name: 'exit-code', meaning: 'exit with 1 if anything would change' },
      {
        name: 'devices-from',
        value: 'ADDRESS',
        meaning: 'the address of a manager that says how many devices would do something',
      },
      TOKEN_FILE,
      WATCH,
      {
        ...FORMAT,
        meaning:
          'text (for people), json (for programs), github (workflow annotations) or markdown (a comment on a pull request)',
        choices: [...FORMATS, 'markdown'],
      },
    ],
    details: [
      'Needs no server and no store, except for --devices-from. Shows the problems that validate shows as well.',
      'The only settings it reads are DESIRED_STATE and DEFAULT_NETWORKS.',
    ],
    examples: [
      ['holdfast plan', 'what the files here would change, before you commit them'],
      ['holdfast plan --against "$(git merge-base origin/main HEAD)"', 'what a branch would change'],
    ],
    problems: 'problems found; with --exit-code, also: the plan is not empty',
  },
  history: {
    name: 'history',
    summary: 'list what changed the fleet, or one object',
    operand: { name: '[OBJECT]', meaning: 'app/NAME or device_group/NAME', choices: [] },
    options: [
      { name: 'since', value: 'TIME', meaning: 'only newer changes: 4d, 2w, 12h, or a date' },
      { name: 'limit', short: 'n', value: 'NUMBER', meaning: 'how many at most; 50 by default' },
      SERVER,
      TOKEN_FILE,
      DESIRED_STATE_OPTION,
      TEXT_OR_JSON,
    ],
    details: [
      ...ASKING,
      'Follows the first parents of the last commit, since that is what devices saw: a merge is one entry. A long list goes through',
      'PAGER (less by default; cat turns that off), and NO_COLOR=1 turns colours off.',
    ],
    examples: [
      ['holdfast history app/web --since 2w', ''],
      ['holdfast history --server https://manager.example', 'with restarts, refusals and ids'],
    ],
  },
  show: {
    name: 'show',
    summary: 'show who made a commit, why, and what it changed',
    operand: {
      name: 'REVISION',
      meaning: "a commit, branch or tag; of a manager's history, also a number that it lists",
      choices: [],
    },
    options: [SERVER, TOKEN_FILE, DESIRED_STATE_OPTION, TEXT_OR_JSON],
    details: [...ASKING, 'Shows a merge as what it brought to its first parent.'],
  },
  rollback: {
    name: 'rollback',
    summary: 'bring objects back as they were, by editing their files',
    operand: {
      name: '[OBJECT]',
      meaning: 'app/NAME or device_group/NAME; with --undo, all that the commit changed by default',
      choices: [],
      isRepeated: true,
    },
    options: [
      {
        name: 'to',
        value: 'REVISION',
        meaning: "restore the bytes of the objects' files at this commit, or at that of yesterday or a date",
        choices: ['yesterday'],
      },
      { name: 'group', value: 'NAME', meaning: 'with --to: this device group' },
      { name: 'with-apps', meaning: 'with --group: also the apps that it listed then' },
      { name: 'all', meaning: 'with --to: the whole fleet' },
      {
        name: 'undo',
        value: 'REVISION',
        meaning: 'take back what this commit changed, field by field, and keep later changes',
      },
      { name: 'commit', meaning: 'commit the files, with your git, identity and hooks' },
      { name: 'reason', value: 'TEXT', meaning: 'why, for the message of the commit' },
      { name: 'with-dependencies', meaning: 'also bring back apps that a group needs' },
      { name: 'allow-delete', meaning: 'with --to: delete an object that did not exist then' },
      { name: 'dry-run', meaning: 'show what would change, and change nothing' },
      DESIRED_STATE_OPTION,
      TEXT_OR_JSON,
    ],
    details: [
      'Works on the last commit, without a server. Changes all files or, after an error, none; a file with changes that are not',
      'committed is refused. With --undo, a field that was changed again since is a conflict, and nothing changes.',
      'yesterday is 24 hours ago, and a date 2026-11-01 or 2026-11-01T18:00, in the zone of this machine unless it ends with one (Z,',
      '+01:00). The commit of then is the newest one by committer date, along first parents or, if HOLDFAST or',
      '~/.config/holdfast.yaml names a manager, the one that this had applied; with --desired-state, no manager is asked.',
    ],
    examples: [
      ['holdfast rollback app/web --to yesterday --dry-run', ''],
      ['holdfast rollback app/web --to v1.4 --commit --reason "500s since 1.5"', ''],
      ['holdfast rollback --group edge --with-apps --to v1.4 --dry-run', 'a group and its apps'],
      ['holdfast rollback --undo 9c41e07 --dry-run', 'what taking back a whole commit would change'],
    ],
    problems: 'nothing was changed: a conflict, something that is needed, or a file that is not valid',
  },
  import: {
    name: 'import',
    summary: 'write the fleet of a manager, or a Compose project, as files of a desired state',
    operand: FOLDER,
    options: [
      {
        name: 'from',
        value: 'ADDRESS',
        meaning: 'the http:// or https:// address of a manager with API v2, without credentials',
      },
      {
        name: 'from-compose',
        value: 'FILE',
        meaning: 'a Compose file, whose services become apps and a device group; - is the standard input',
      },
      {
        name: 'group',
        value: 'NAME',
        meaning: "with --from-compose: the group's name; by default, the Compose project's",
      },
      { name: 'dry-run', meaning: 'with --from-compose: print the files, and write nothing' },
      { ...TOKEN_FILE, meaning: 'with --from: a file with a token; by default as below' },
      FORMAT,
    ],
    details: [
      'A file that exists is never overwritten.',
      'The credentials for --from are BASIC_AUTH_USER and BASIC_AUTH_PASSWORD or, without them, as for history.',
      '--from-compose lets Docker Compose read FILE. Where it is not installed, FILE is the output of "docker compose config".',
      'Names everything that has no counterpart. Writes all files or, after an error, none.',
    ],
    examples: [
      ['holdfast import --from https://manager.example', ''],
      ['holdfast import --from-compose compose.yaml --dry-run', 'what a Compose file would become'],
    ],
    problems: 'the files do not match the manager; the Compose file has an error',
  },
  ...FLEET_COMMANDS,
  // Run by src/worker/main.ts, which has its own help.
  worker: {
    name: 'worker',
    summary: 'run the agent on a device',
    operand: {
      name: '[COMMAND]',
      meaning: 'status, retry APP or forget-ids, which ask the worker that runs',
      choices: ['status', 'retry', 'forget-ids'],
    },
    options: [
      { name: 'once', meaning: 'run until the device is up to date or has to wait, then exit' },
      { name: 'dry-run', meaning: 'show what this device would do, and do nothing' },
    ],
    settings: WORKER_SETTINGS,
    details: [],
    problems: 'not everything is as wanted',
  },
  completion: {
    name: 'completion',
    summary: 'print a script that completes commands and flags in a shell',
    operand: { name: 'SHELL', meaning: 'bash, zsh or fish', choices: ['bash', 'zsh', 'fish'] },
    options: [],
    details: [
      'In the start-up file of the shell, for a holdfast that is on the PATH:',
      '  bash  source <(holdfast completion bash)',
      '  zsh   source <(holdfast completion zsh), below compinit',
      '  fish  holdfast completion fish | source',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>;

/** The same as a list. */
export const COMMAND_LIST: readonly Command[] = Object.values(COMMANDS);

export const COMMAND_NAMES = COMMAND_LIST.map(({ name }) => name);

/** Returns the command that these arguments begin with; undefined if there is none. */
export function commandOf([first]: readonly string[]): Command | undefined {
  return COMMAND_LIST.find(({ name }) => name === first);
}
