import { describe, expect, it } from 'vitest';
import { COMMAND_LIST, COMMANDS } from '../../src/cli/shell/commands.ts';
import { helpText } from '../../src/cli/shell/help.ts';
import { flagOf } from '../../src/settings/read.ts';
import type { Setting } from '../../src/settings/setting.ts';
import { SETTINGS, type SettingName } from '../../src/settings/table.ts';

const SETTING_LIST = Object.entries(SETTINGS) as [SettingName, Setting<unknown>][];

const overview = helpText();

describe('the overview', () => {
  it('fits a terminal of 25 lines', () => {
    expect(overview.split('\n').length - 1).toBeLessThanOrEqual(25);
  });

  it.each(COMMAND_LIST.map(({ name }) => name))('has %s once', (name) => {
    const rows = overview.match(/^ {2}(?!holdfast).*$/gm) ?? [];
    const named = rows.flatMap((row) =>
      / {2}also /.test(row) ? row.trim().split(/ {2,}|, /) : [row.trim().split(' ')[0]],
    );
    expect(named.filter((each) => each === name)).toEqual([name]);
  });
});

describe.each([undefined, ...COMMAND_LIST])('the help of %o', (command) => {
  it.each([80, 60, 200])('has no line that is too long for a terminal of %i columns', (width) => {
    const text = helpText(command, width);
    const long = text.split('\n').filter((line) => line.length > width);
    // What people copy is not wrapped.
    expect(long.filter((line) => !/^ {2}(holdfast|[A-Z_]+, --|bash|zsh|fish)/.test(line))).toEqual([]);
    if (width >= 80) expect(long).toEqual([]);
    expect(text).toMatch(/[^\n]\n$/);
    expect(text.split('\n').filter((line) => line !== line.trimEnd())).toEqual([]);
  });
});

describe('the help of a command', () => {
  const serve = helpText(COMMANDS.serve, 400);

  it.each(SETTING_LIST)(
    'has %s with its flag, default and meaning, if it is one of serve',
    (name, { fallback, meaning }) => {
      const shown = fallback === null ? 'unset' : String(fallback);
      expect(serve).toContain(`\n  ${name}, --${flagOf(name)} (${shown})\n      ${meaning}\n`);
    },
  );

  it('has the whole text, however narrow the terminal is', () => {
    const words = (width: number): string[] => helpText(COMMANDS.serve, width).split(/\s+/);
    expect(words(30)).toEqual(words(400));
  });

  it('lists options, formats and exit codes', () => {
    const plan = helpText(COMMANDS.plan);
    expect(plan).toContain('  holdfast plan [FOLDER] [--against REVISION] [--exit-code]\n');
    expect(plan).toMatch(/text .*json .*github/);
    for (const code of [0, 1, 2, 3]) expect(plan).toMatch(new RegExp(`^ {2}${code} {2}\\w`, 'm'));
    expect(plan).toContain('\nDEFAULT_NETWORKS');
    expect(plan).toContain('holdfast plan --against "$(git merge-base origin/main HEAD)"');
  });

  it('says what 0 means: no problems only where there can be some', () => {
    const zeros = [COMMANDS.validate, COMMANDS.history, COMMANDS.serve].map(
      (command) => /^ {2}0 {2}(.*)$/m.exec(helpText(command))?.[1],
    );
    expect(zeros).toEqual(['no problems', 'done', 'stopped by a signal']);
  });
});
