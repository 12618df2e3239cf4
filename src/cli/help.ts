import { fileVariableOf, flagOf } from '../config.ts';
import { SETTING_NAMES, SETTINGS, type Setting } from '../settings.ts';

/** The settings that can be read from a file. */
const SECRETS = SETTING_NAMES.filter((name) => fileVariableOf(name) !== null);

const USAGE = `holdfast: a manager for container fleets whose configuration lives in git

Usage
  holdfast serve [--flag VALUE ...]                     run the manager
  holdfast validate [FOLDER] [--format FORMAT]          check the files of a desired state
  holdfast plan [FOLDER] [--against REVISION] [--exit-code] [--format FORMAT]
                                                        show what a desired state would change
  holdfast import --from ADDRESS [FOLDER] [--format FORMAT]
                                                        write the fleet of a running manager as files of a desired state
  holdfast store copy --to TARGET                       copy the configured store, with its ids and reports
  holdfast --help | --version

validate and plan need no server and no store. The only settings they read are DESIRED_STATE and DEFAULT_NETWORKS.
FOLDER defaults to DESIRED_STATE. REVISION, the commit that plan compares with, defaults to HEAD.
ADDRESS is the http:// or https:// address of a manager with API v2; credentials come from BASIC_AUTH_USER and BASIC_AUTH_PASSWORD.
FORMAT is text (for people), json (for programs) or github (workflow annotations).
TARGET is a mongodb:// address (the database is MONGODB_DATABASE) or a data folder. Stop all managers first.

Examples
  holdfast plan                                                 what the files here would change, before you commit them
  holdfast plan --against "$(git merge-base origin/main HEAD)"  what a branch would change
  holdfast serve --port 9000 --desired-state /srv/fleet/desired-state

Exit codes
  0  no problems
  1  problems found; with plan --exit-code, also: the plan is not empty; with import: the files do not match the manager
  2  wrong usage or settings; no such folder or revision
  3  the command itself failed
`;

/**
 * Returns the help text: commands, exit codes, and all settings with their defaults. The settings are left out of the
 * help for a command that does not take their flags.
 */
export function helpText(command?: string): string {
  return command === undefined || !WITHOUT_SETTINGS.includes(command) ? USAGE + settingsText() : USAGE;
}

const RULES = `Settings are environment variables; flags of serve override them, and an empty variable counts as unset.
A secret can be read from a file instead: set NAME_FILE to its path (${SECRETS.join(', ')}).`;

/** The commands that do not take the flags of `serve`. */
const WITHOUT_SETTINGS = ['validate', 'plan', 'import', 'store'];

function settingsText(): string {
  const rows = SETTING_NAMES.map((name) => {
    const { fallback, meaning, isSecret }: Setting<unknown> = SETTINGS[name];
    return [
      name,
      `--${flagOf(name)}`,
      isSecret === true ? 'unset' : shownDefault(fallback),
      meaning,
    ] as const;
  });
  const table = [['Setting', 'flag of serve', 'default', 'meaning'] as const, ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column as 0].length)));
  const lines = table.map(
    (row) =>
      `  ${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}`,
  );
  return `\n${RULES}\n\n${lines.join('\n')}\n`;
}

function shownDefault(fallback: unknown): string {
  if (fallback === null) return 'unset';
  return Array.isArray(fallback) ? fallback.join(',') : String(fallback);
}
