import { readIfThere } from '../../../disk/read.ts';
import { commands } from '../process/commands.ts';
import { withConfig } from '../process/environment.ts';
import { askGit, type GitContext } from '../process/run.ts';

/** How programs that settings name are switched off: an empty command of a filter is none. */
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
 * The same repository, where no filter runs that its settings have now, and no hook that they name: a `.gitattributes`
 * that a commit brings must not decide which programs of the machine work on which files. Asked anew for each write, since
 * filters are set up while we run.
 */
export async function withoutPrograms<T extends Settings>(repository: T): Promise<T> {
  const { context } = repository;
  const off = (await programs(repository)).flatMap(([kind = '', name]) =>
    (SWITCHED_OFF[kind] ?? []).map(([key, value]) => [`${kind}.${name}.${key}`, value] as const),
  );
  return off.length === 0
    ? repository
    : { ...repository, context: { ...context, env: withConfig(context.env, off) } };
}

/** Where the settings of a repository are: that of `git config --local`, and that of its work tree. */
interface Settings {
  context: GitContext;
  gitFolder: string;
  commonFolder: string;
}

/** A section begins so, however it is written. */
const MAY_NAME = /\[(filter|hook|include)/i;

/**
 * Whether the settings that git sees can name a program: those of the repository and of the work tree are all that the
 * environment leaves. Looking into two small files costs less than a process.
 */
async function mayNamePrograms({ gitFolder, commonFolder }: Settings): Promise<boolean> {
  const files = [`${commonFolder}/config`, `${gitFolder}/config.worktree`];
  // Of a file that cannot be read nothing is known.
  const texts = await Promise.all(files.map(readIfThere)).catch(() => null);
  return texts === null || texts.some((text) => text !== null && MAY_NAME.test(text));
}

/** The kind and the name of each, more than once. */
async function programs(settings: Settings): Promise<string[][]> {
  if (!(await mayNamePrograms(settings))) return [];
  const keys = (await askGit(settings.context, commands.programSettings())) ?? '';
  const sections = keys.split('\0').flatMap((key) => /^(.*)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(sections)].map((section) => /^(filter|hook)\.(.*)$/s.exec(section)?.slice(1) ?? []);
}
