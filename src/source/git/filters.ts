import { commands } from './commands.ts';
import { withConfig } from './environment.ts';
import { GitFailure, runGit } from './run.ts';
import type { Checkout } from './work-tree.ts';

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

async function filterNames({ repository }: Checkout): Promise<string[]> {
  let keys: string;
  try {
    keys = await runGit(repository.context, commands.filterSettings());
  } catch (error) {
    if (error instanceof GitFailure && error.exitCode === 1) return [];
    throw error;
  }
  const names = keys.split('\0').flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)];
}
