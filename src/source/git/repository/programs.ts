import { readIfExists } from '../../../disk/read.ts';
import { commands } from '../process/commands.ts';
import { withConfig } from '../process/environment.ts';
import { askGit, type GitContext } from '../process/run.ts';

/** Settings that switch off a filter or a hook by its name: a filter with an empty command does nothing. */
const SWITCHED_OFF: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  filter: [
    ['clean', ''],
    ['smudge', ''],
    ['process', ''],
    ['required', 'false'],
  ],
  // Since git 2.54.
  hook: [['enabled', 'false']],
};

/**
 * Returns the repository with every filter and hook switched off that its settings name now: a `.gitattributes` file
 * that a commit brings must not decide which programs of this machine run on which files. Called again for each write,
 * since filters can be set up while the manager runs.
 */
export async function withoutPrograms<T extends GitPlace>(repository: T): Promise<T> {
  const { context } = repository;
  const off = (await namedPrograms(repository)).flatMap(([kind = '', name]) =>
    (SWITCHED_OFF[kind] ?? []).map(([key, value]) => [`${kind}.${name}.${key}`, value] as const),
  );
  return off.length === 0
    ? repository
    : { ...repository, context: { ...context, env: withConfig(context.env, off) } };
}

/** How to run git in a repository, and the folders of its settings: those of its work tree, and the shared ones. */
interface GitPlace {
  context: GitContext;
  gitFolder: string;
  commonFolder: string;
}

/** Start of a section that can name a program, in any spelling. */
const MAY_NAME = /\[(filter|hook|include)/i;

/**
 * Whether the settings can name a program. The environment hides all settings from git except those of the repository
 * and of the work tree, and reading two small files costs less than starting a process.
 */
async function mayNamePrograms({ gitFolder, commonFolder }: GitPlace): Promise<boolean> {
  const files = [`${commonFolder}/config`, `${gitFolder}/config.worktree`];
  // A file that cannot be read may name any program.
  const texts = await Promise.all(files.map(readIfExists)).catch(() => null);
  return texts === null || texts.some((text) => text !== null && MAY_NAME.test(text));
}

/** Each program's kind (`filter` or `hook`) and name. */
async function namedPrograms(place: GitPlace): Promise<string[][]> {
  if (!(await mayNamePrograms(place))) return [];
  const keys = (await askGit(place.context, commands.programSettings())) ?? '';
  const sections = keys.split('\0').flatMap((key) => /^(.*)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(sections)].map((section) => /^(filter|hook)\.(.*)$/s.exec(section)?.slice(1) ?? []);
}
