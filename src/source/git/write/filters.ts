import { readIfThere } from '../../../disk/read.ts';
import { commands } from '../process/commands.ts';
import { withConfig } from '../process/environment.ts';
import { askGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import type { Checkout } from '../work-tree/held-index.ts';

/** What makes a filter a program; an empty command is none. */
const SWITCHED_OFF = [
  ['clean', ''],
  ['smudge', ''],
  ['process', ''],
  ['required', 'false'],
] as const;

/**
 * The same checkout, where no filter program runs: a `.gitattributes` that a commit brings must not decide which
 * programs of the machine work on which files. Asked anew for each write, since filters are set up while we run.
 */
export async function withoutFilters(checkout: Checkout): Promise<Checkout> {
  const names = await filterNames(checkout);
  if (names.length === 0) return checkout;
  const { repository } = checkout;
  const { context } = repository;
  const off = names.flatMap((name) =>
    SWITCHED_OFF.map(([key, value]) => [`filter.${name}.${key}`, value] as const),
  );
  const quiet = { ...context, env: withConfig(context.env, off) };
  return { ...checkout, repository: { ...repository, context: quiet } };
}

/** A section or an include has one of these words in it, however it is written. */
const MAY_FILTER = /filter|include/i;

/**
 * Whether the settings that git sees can have a filter in them: those of the repository and of the work tree are all
 * that the environment leaves. Looking into two small files costs less than a process.
 */
async function mayHaveFilters({ gitFolder, commonFolder }: Repository): Promise<boolean> {
  const files = [`${commonFolder}/config`, `${gitFolder}/config.worktree`];
  // Of a file that cannot be read nothing is known.
  const texts = await Promise.all(files.map(readIfThere)).catch(() => null);
  return texts === null || texts.some((text) => text !== null && MAY_FILTER.test(text));
}

async function filterNames({ repository }: Checkout): Promise<string[]> {
  if (!(await mayHaveFilters(repository))) return [];
  const keys = (await askGit(repository.context, commands.filterSettings())) ?? '';
  const names = keys.split('\0').flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)];
}
