import { describe, expect, it } from 'vitest';
import { COMMANDS as COMMAND_TABLE } from '../../src/cli/shell/commands.ts';
import { helpText } from '../../src/cli/shell/help.ts';
import { HoldfastError } from '../../src/errors.ts';
import { runCli } from '../support/command.ts';

const NAMES =
  'serve, validate, plan, history, show, rollback, import, status, apps, devices, restart, start, stop, logs, retry, prune, worker and completion';
const COMMANDS = `The commands are ${NAMES}`;

describe('runCommand', () => {
  it.each([[['--help']], [['-h']], [['help']], [['nonsense', '--help']]])(
    'shows the help text for %j',
    async (argv) => {
      expect(await runCli(argv)).toEqual({ code: 0, out: helpText(), err: '', served: null });
    },
  );

  it.each([
    [['serve', '--help'], 'serve'],
    [['validate', '.', '-h'], 'validate'],
    [['plan', '--help'], 'plan'],
    [['help', 'plan'], 'plan'],
    [['import', '--help'], 'import'],
    [['help', 'completion'], 'completion'],
  ])('shows the help of the command alone for %j', async (argv, command) => {
    const { code, out, err } = await runCli(argv);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(new RegExp(`^holdfast ${command}: [^]*?\\n\\nUsage\\n  holdfast ${command} ?.*\\n`));
    expect(out.includes('GIT_POLL_INTERVAL')).toBe(command === 'serve');
    expect(out.includes('--against')).toBe(command === 'plan');
  });

  it('wraps help at the width of the terminal', async () => {
    const { out } = await runCli(['serve', '--help'], { columns: 50 });
    expect(out).toBe(helpText(COMMAND_TABLE.serve, 50));
    expect(out).not.toBe(helpText(COMMAND_TABLE.serve));
  });

  it('refuses the help of an unknown command, and suggests the one that is meant', async () => {
    expect(await runCli(['help', 'nope'])).toMatchObject({
      code: 2,
      out: '',
      err: `holdfast: "nope" is not a command. ${COMMANDS}\nTry "holdfast --help".\n`,
    });
    expect((await runCli(['help', 'plna'])).err).toContain('did you mean plan?');
  });

  it.each(['serve', 'validate', 'plan', 'import'])('takes -v for no flag of %s', async (command) => {
    const { code, out, err } = await runCli([command, '-v']);
    expect([code, out, err.includes('1.2.3')]).toEqual([2, '', false]);
  });

  it('complains once about a misspelt flag of serve and its value', async () => {
    const { err } = await runCli(['serve', '--prot', '9000']);
    expect(err).toBe(
      'holdfast: invalid settings:\n  --prot is not a flag; did you mean --port?\nTry "holdfast serve --help".\n',
    );
  });

  it.each([[['--version']], [['-v']], [['plan', '--version']]])('shows the version for %j', async (argv) => {
    expect(await runCli(argv)).toEqual({ code: 0, out: '1.2.3\n', err: '', served: null });
  });

  it.each([
    [[], `name a command; the commands are ${NAMES}`],
    [['begin'], `"begin" is not a command. ${COMMANDS}`],
    [['export'], `"export" is not a command. ${COMMANDS}`],
    [['report'], `"report" is not a command. ${COMMANDS}`],
    [['restore'], `"restore" is not a command. ${COMMANDS}`],
    [['observe'], `"observe" is not a command. ${COMMANDS}`],
    [['--colour', '1'], `"--colour" is not a command. ${COMMANDS}`],
    [['token=SECRET'], `"token" is not a command. ${COMMANDS}`],
    [['--port', '1'], 'flags belong to serve: holdfast serve --port …'],
    [['--git-token=SECRET'], 'flags belong to serve: holdfast serve --git-token …'],
    [['--webhook-secret-file', 'x'], 'flags belong to serve: holdfast serve --webhook-secret-file …'],
  ])('refuses %j', async (argv, message) => {
    const help = message.startsWith('flags belong to serve') ? 'holdfast serve --help' : 'holdfast --help';
    const err = `holdfast: ${message}\nTry "${help}".\n`;
    expect(await runCli(argv)).toEqual({ code: 2, out: '', err, served: null });
  });

  it.each([
    ['vaildate', 'validate'],
    ['serv', 'serve'],
    ['serv=SECRET', 'serve'],
    ['PLAN', 'plan'],
    ['version', '--version'],
    ['--verison', '--version'],
    ['--hlep', 'help'],
  ])('suggests the command that %s probably stands for', async (command, meant) => {
    const { code, out, err } = await runCli([command, '--port', '1']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toBe(
      `holdfast: "${command.replace('=SECRET', '')}" is not a command; did you mean ${meant}? ${COMMANDS}\nTry "holdfast --help".\n`,
    );
  });
});

describe('serve', () => {
  it('serves with the settings of the environment and the flags', async () => {
    const result = await runCli(['serve', '--port', '9000'], { env: { PORT: '1', HOST: '::' } });
    expect(result).toMatchObject({
      code: 0,
      out: '',
      err: '',
      served: { PORT: 9000, HOST: '::', STRICT: false },
    });
  });

  it('reports every problem of the settings, and does not serve', async () => {
    const result = await runCli(['serve', '--port', 'x'], {
      env: { STRICT: 'y', BASIC_AUTH_PASSWORD: 'hunter2' },
    });
    expect(result).toEqual({
      code: 2,
      out: '',
      err: [
        'holdfast: invalid settings:',
        '  --port must be a whole number from 0 to 65535, not "x"',
        '  STRICT must be true or false, not "y"',
        '  BASIC_AUTH_USER and BASIC_AUTH_PASSWORD belong together; set both or neither',
        'Try "holdfast serve --help".\n',
      ].join('\n'),
      served: null,
    });
  });

  it.each<[string, unknown, number, string]>([
    ['a wrong setting', new HoldfastError('invalid', 'no such branch'), 2, 'holdfast: no such branch\n'],
    [
      'an unavailable store',
      new HoldfastError('unavailable', 'the store is locked'),
      3,
      'holdfast: the store is locked\n',
    ],
    ['a port that is in use', new Error('listen EADDRINUSE'), 3, 'holdfast: listen EADDRINUSE\n'],
    ['any other error', 'what', 3, 'holdfast: what\n'],
  ])('exits with the code for %s', async (_name, error, code, err) => {
    const result = await runCli(['serve'], { serve: () => Promise.reject(error) });
    expect(result).toMatchObject({ code, out: '', err });
  });
});

describe.each(['validate', 'plan'])('%s', (command) => {
  it.each([
    [['a', 'b'], /^holdfast: only one folder can be given, not a and b\n/],
    [['--format', 'xml'], /^holdfast: --format must be one of text, json, github/],
    [['--format'], /^holdfast: --format needs a value: --format FORMAT\n/],
    [['--format', '-x'], /^holdfast: --format needs a value: --format FORMAT\n/],
    [['--port', '1'], /^holdfast: --port is not an option of (validate|plan), which takes .*--format FORMAT/],
    [['--json'], /^holdfast: --json is not an option of (validate|plan); JSON is --format json\n/],
    [['-json'], /^holdfast: -json is not an option of (validate|plan); JSON is --format json\n/],
    [
      ['-format', 'json'],
      /^holdfast: -format is not an option of (validate|plan); did you mean --format\?\n/,
    ],
    [['-format=json'], /^holdfast: -format is not an option of (validate|plan); did you mean --format\?\n/],
    [['-q'], /^holdfast: -q is not an option of (validate|plan), which takes .*--format FORMAT/],
    [
      ['no-such-folder'],
      /^holdfast: no-such-folder is not a folder; name the one that contains apps\/ and device-groups\/\n/,
    ],
    [[''], /^holdfast: "" is not a folder; name the one that contains apps\/ and device-groups\/\n/],
    [
      ['package.json'],
      /^holdfast: package\.json is not a folder; name the one that contains apps\/ and device-groups\/\n/,
    ],
  ])('refuses %j', async (args, err) => {
    const result = await runCli([command, ...args]);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toMatch(err);
    expect(result.err).toMatch(new RegExp(`\\nTry "holdfast ${command} --help"\\.\\n$`));
  });

  it('refuses invalid values of the settings that it reads, and ignores other settings', async () => {
    const env = { DEFAULT_NETWORKS: 'a,,b', PORT: 'x', DESIRED_STATE: 'no-such-folder' };
    expect(await runCli([command], { env })).toMatchObject({
      code: 2,
      err: `holdfast: invalid settings:\n  DEFAULT_NETWORKS must be names separated by commas, not "a,,b"\nTry "holdfast ${command} --help".\n`,
    });
    expect(await runCli([command], { env: { ...env, DEFAULT_NETWORKS: 'a' } })).toMatchObject({
      code: 2,
      err: `holdfast: no-such-folder is not a folder; name the one that contains apps/ and device-groups/\nTry "holdfast ${command} --help".\n`,
    });
  });
});

describe('plan', () => {
  it.each([
    [
      ['--frob'],
      '--frob is not an option of plan, which takes [FOLDER], --against REVISION, --exit-code, --devices-from ADDRESS, --token-file FILE, --watch and --format FORMAT',
    ],
    [['--exitcode'], '--exitcode is not an option of plan; did you mean --exit-code?'],
    [['--against'], '--against needs a value: --against REVISION'],
    [['--against', '--exit-code'], '--against needs a value: --against REVISION'],
    [['--exit-code=yes'], '--exit-code takes no value'],
  ])('refuses %j, and names what is accepted', async (args, message) => {
    const result = await runCli(['plan', ...args]);
    expect(result).toMatchObject({
      code: 2,
      out: '',
      err: `holdfast: ${message}\nTry "holdfast plan --help".\n`,
    });
  });
});
