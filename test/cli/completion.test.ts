import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { temporaryFolder } from '../support/folder.ts';
import { works } from '../support/tools.ts';

const run = promisify(execFile);

const WORDS = [
  'apps',
  'completion',
  'devices',
  'help',
  'history',
  'import',
  'logs',
  'plan',
  'prune',
  'restart',
  'retry',
  'rollback',
  'serve',
  'show',
  'start',
  'status',
  'stop',
  'validate',
  'worker',
];
const PLAN = ['--against', '--devices-from', '--exit-code', '--format', '--help', '--token-file', '--watch'];

/** Command lines up to the cursor, and what completes their last word. */
const ROWS: [string, string[]][] = [
  ['holdfast ', WORDS],
  ['holdfast pl', ['plan']],
  ['holdfast help im', ['import']],
  ['holdfast plan --', PLAN],
  ['holdfast plan --exit-code --a', ['--against']],
  ['holdfast validate --format ', ['github', 'json', 'text']],
  ['holdfast plan --format ', ['github', 'json', 'markdown', 'text']],
  ['holdfast completion ', ['bash', 'fish', 'zsh']],
  ['holdfast worker ', ['forget-ids', 'retry', 'status']],
  [
    'holdfast worker --device-a',
    ['--device-auth-password', '--device-auth-password-file', '--device-auth-user'],
  ],
  ['holdfast serve --git-to', ['--git-token', '--git-token-file']],
  ['holdfast serve --basic-auth-password', ['--basic-auth-password', '--basic-auth-password-file']],
];

/** An interactive zsh takes a second to start. */
const FOR_ZSH = ROWS.filter((_, index) => [0, 3, 5, 7].includes(index));

/** Writes the script for a shell into a file. */
async function scriptFor(shell: string): Promise<string> {
  const { code, out } = await runCli(['completion', shell]);
  expect(code).toBe(0);
  const path = join(await temporaryFolder(), `holdfast.${shell}`);
  await writeFile(path, out);
  return path;
}

/** The lines of an output, sorted, without what follows a tab. */
function sorted(output: string): string[] {
  return output
    .split('\n')
    .map((line) => line.split(/[\t\r]/)[0] ?? '')
    .filter((line) => line !== '')
    .sort();
}

describe('the completion of', () => {
  it.skipIf(!works('bash', ['--version'])).each(ROWS)('bash completes %j', async (line, expected) => {
    const script = await scriptFor('bash');
    const words = line.split(' ');
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const command = `source ${script}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['--norc', '-c', command]);
    expect(sorted(stdout)).toEqual(expected);
  });

  it.skipIf(!works('fish', ['--version'])).each(ROWS)('fish completes %j', async (line, expected) => {
    const script = await scriptFor('fish');
    const home = await temporaryFolder();
    const { stdout } = await run('fish', ['--no-config', '-c', `source ${script}; complete -C '${line}'`], {
      env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home },
    });
    expect(sorted(stdout)).toEqual(expected);
  });

  it.skipIf(!works('zsh', ['--version'])).each(FOR_ZSH)('zsh completes %j', async (line, expected) => {
    const script = await scriptFor('zsh');
    const { stdout } = await run('zsh', ['-f', '-c', ZSH, 'zsh', script, line], { timeout: 60_000 });
    expect(sorted(stdout)).toEqual(expected);
  });

  it.each([[[]], [['tcsh']], [['bash', 'zsh']], [['--format', 'json']]])('refuses %j', async (args) => {
    const { code, out, err } = await runCli(['completion', ...args]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('completion takes the name of one shell: bash, zsh, fish');
  });
});

/** Types a line and a tab into an interactive zsh, and prints what it offers: zsh completes nowhere else. */
const ZSH = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PROMPT=; autoload -Uz compinit; compinit -u -D; source $1"
zpty -w z "bindkey '^I' complete-word"
zpty -w z "zstyle ':completion:*' insert-tab false; comppostfuncs=(done-line); done-line() { print; print END; exit }"
zpty -w z 'compadd() {
  if [[ " $* " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return $?; fi
  local -a found; builtin compadd -A found "$@"
  (( $#found )) && print -l -- "" "HIT "$^found
  builtin compadd "$@"
}'
zpty -w z 'print READY'
while zpty -r z text; do [[ $text == READY* ]] && break; done
zpty -w -n z "$2"$'\\t'
while zpty -r z text; do
  [[ $text == HIT* ]] && print -r -- \${\${text#HIT }%%[[:space:]]*}
  [[ $text == END* ]] && break
done
`;
