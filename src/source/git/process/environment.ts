/** What of the machine's environment git needs to run at all; nothing else is passed on. */
const PASSED_ON = ['PATH', 'TMPDIR'] as const;

/**
 * Settings that hold for every call of git, above all that a repository or a machine says: no hooks, no other
 * programs, no implied work in the background, and objects that are on disk before they are named.
 */
const CONFIG: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  // Hooks that settings name have no path; those that are there at the start are switched off by name (`withoutPrograms`).
  // From git 2.55 on, this holds for later ones. These two events alone occur in what is run here.
  ['hook.reference-transaction.enabled', 'false'],
  ['hook.post-index-change.enabled', 'false'],
  ['core.fsmonitor', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.fsync', 'committed,reference,index'],
  ['core.fsyncMethod', 'fsync'],
  ['core.quotePath', 'false'],
  // Files of a commit can look like one.
  ['safe.bareRepository', 'explicit'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['fastimport.unpackLimit', '1'],
  ['pack.compression', '1'],
  ['log.showSignature', 'false'],
  // The history of names has to be whole, also where people like to see less of it.
  ['log.showRoot', 'true'],
  ['log.follow', 'false'],
  ['diff.orderFile', '/dev/null'],
  ['advice.detachedHead', 'false'],
  ['init.defaultBranch', 'main'],
  ['init.templateDir', ''],
];

/** Who commits: the author of a commit is set with the commit itself. */
export const COMMITTER = { name: 'Holdfast', email: 'holdfast@holdfast.invalid' };

/**
 * The whole environment of a git process. Nothing of the machine's configuration (identity, global and system
 * config, hooks, locale, colour, prompts) reaches it.
 */
export function gitEnvironment(
  machine: Readonly<Record<string, string | undefined>>,
  safeDirectories: readonly string[],
  more: readonly (readonly [string, string])[] = [],
): Record<string, string> {
  const env: Record<string, string> = {
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    // A file that is there, empty or not, is a hint in front of every complaint.
    GIT_GRAFT_FILE: '/nonexistent',
    // What a partial clone lacks, git fetches by itself, from where the repository says. At a path, it would run the
    // program that the repository names for that; over ssh, another ssh than this one.
    GIT_ALLOW_PROTOCOL: 'https:ssh',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    GIT_SSH_VARIANT: 'ssh',
    GIT_AUTHOR_NAME: COMMITTER.name,
    GIT_AUTHOR_EMAIL: COMMITTER.email,
    GIT_COMMITTER_NAME: COMMITTER.name,
    GIT_COMMITTER_EMAIL: COMMITTER.email,
  };
  for (const name of PASSED_ON) {
    const value = machine[name];
    if (value !== undefined) env[name] = value;
  }
  return withConfig(env, [
    ...CONFIG,
    ...safeDirectories.map((path) => ['safe.directory', path] as const),
    ...more,
  ]);
}

/** The same environment with more settings for git; the last one of a name wins. */
export function withConfig(
  env: Readonly<Record<string, string>>,
  settings: readonly (readonly [string, string])[],
): Record<string, string> {
  const more: Record<string, string> = {};
  const count = Number(env['GIT_CONFIG_COUNT'] ?? 0);
  settings.forEach(([key, value], index) => {
    more[`GIT_CONFIG_KEY_${count + index}`] = key;
    more[`GIT_CONFIG_VALUE_${count + index}`] = value;
  });
  return { ...env, ...more, GIT_CONFIG_COUNT: String(count + settings.length) };
}
