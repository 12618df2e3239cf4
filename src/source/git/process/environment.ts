/** The variables of the machine's environment that git needs; no others are passed on. */
const PASSED_ON = ['PATH', 'TMPDIR'] as const;

/**
 * Settings for every call of git, which override those of the repository and the machine: no hooks, no other programs,
 * no implicit work in the background, and every object is on disk before a ref names it.
 */
const CONFIG: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  // The hooks folder does not matter for hooks from settings. `withoutPrograms` switches off by name those that exist
  // when it is called; from git 2.55 on, these two lines do so for later ones. No other events occur in the commands
  // run here.
  ['hook.reference-transaction.enabled', 'false'],
  ['hook.post-index-change.enabled', 'false'],
  ['core.fsmonitor', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.fsync', 'committed,reference,index'],
  ['core.fsyncMethod', 'fsync'],
  ['core.quotePath', 'false'],
  // The files of a commit can look like a bare repository.
  ['safe.bareRepository', 'explicit'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['fastimport.unpackLimit', '1'],
  ['pack.compression', '1'],
  ['log.showSignature', 'false'],
  // The history of file names must be complete, even if users prefer shorter logs.
  ['log.showRoot', 'true'],
  ['log.follow', 'false'],
  ['diff.orderFile', '/dev/null'],
  ['advice.detachedHead', 'false'],
  ['init.defaultBranch', 'main'],
  ['init.templateDir', ''],
];

/** The committer of all commits; the author is set with each commit. */
export const COMMITTER = { name: 'Holdfast', email: 'holdfast@holdfast.invalid' };

/**
 * Returns the complete environment of a git process. None of the machine's configuration (identity, global and system
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
    // If the file existed, even empty, git would print a hint before every error message.
    GIT_GRAFT_FILE: '/nonexistent',
    // git fetches the missing objects of a partial clone by itself, from the remote that the repository configures.
    // From a path, it would run a program that the repository configures; over ssh, a configured ssh instead of this
    // one.
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

/** Returns the environment with more settings for git; of several with the same name, the last one counts. */
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
