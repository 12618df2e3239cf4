import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { helpText } from '../../src/cli/help.ts';
import { flagOf } from '../../src/config/read.ts';
import type { Setting } from '../../src/settings/setting.ts';
import { SETTINGS, type SettingName } from '../../src/settings.ts';

const SETTING_LIST = Object.entries(SETTINGS) as [SettingName, Setting<unknown>][];

describe('helpText', () => {
  const text = helpText();
  const lines = text.split('\n');

  it.each(SETTING_LIST)(
    'has a row for %s, with its flag, default and meaning',
    (name, { fallback, meaning }) => {
      const row = lines.find((line) => line.startsWith(`  ${name} `)) ?? '';
      const shown = fallback === null ? 'unset' : String(fallback);
      expect(row.split(/ {2,}/).slice(1)).toEqual([name, `--${flagOf(name)}`, shown, meaning]);
    },
  );

  it('lists every command, format and exit code', () => {
    for (const word of [
      'serve',
      'validate',
      'plan',
      'import',
      '--from-compose',
      '--to',
      '--against',
      '--exit-code',
      '--format',
      '--version',
    ]) {
      expect(text).toContain(word);
    }
    expect(text).toMatch(/text .*json .*github/);
    for (const code of [0, 1, 2, 3]) expect(text).toMatch(new RegExp(`\\b${code} {2}\\w`));
  });

  it('names the settings that validate and plan read, and shows how to plan a branch', () => {
    expect(text).toContain('The only settings they read are DESIRED_STATE and DEFAULT_NETWORKS');
    expect(text).toContain('holdfast plan --against "$(git merge-base origin/main HEAD)"');
  });

  it('has each command in a line that fits into a terminal, and all its options in its own help', () => {
    const usages = lines.filter((line) => line.startsWith('  holdfast rollback [OBJECT]'));
    expect(usages).toEqual(['  holdfast rollback [OBJECT] [--to REVISION | --undo REVISION] [--flag ...]']);
    expect(helpText(COMMANDS.rollback)).toContain('[--with-dependencies]');
  });

  it('has no spaces at the ends of lines, and one line break at its end', () => {
    expect(lines.filter((line) => line !== line.trimEnd())).toEqual([]);
    expect(text).toMatch(/[^\n]\n$/);
  });
});
