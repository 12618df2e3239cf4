import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import type { Followed } from '../repository/followed.ts';
import { currentBranch, isShallow, type Repository } from '../repository/repository.ts';
import { pathsBelow } from './paths.ts';

/** `Reader.touched`. */
export async function readTouched(
  repository: Repository,
  from: string,
  to: string,
): Promise<Set<string> | null> {
  const { context, prefix } = repository;
  if (from === to) return new Set();
  if (await isShallow(repository)) return null;
  return pathsBelow(prefix, await runGit(context, commands.touchedPaths(from, to, prefix || '.')));
}

/** `Reader.between`. */
export async function readBetween(
  repository: Repository,
  from: string,
  to: string,
): Promise<string[] | null> {
  if (from === to) return [];
  if (await isShallow(repository)) return null;
  return linesOf(await runGit(repository.context, commands.between(from, to)));
}

/** `Reader.visited`: whoever moves HEAD from branch to branch leaves a trace only there. */
export async function readVisited(repository: Repository, followed: Followed): Promise<string[][]> {
  const { branch, isByHead } = followed;
  const hasHead = isByHead || (await currentBranch(repository)) === branch;
  const refs = [...(branch === null ? [] : [branch]), ...(hasHead ? ['HEAD'] : [])];
  return Promise.all(refs.map((ref) => visitsOf(repository, ref)));
}

async function visitsOf({ context }: Repository, ref: string): Promise<string[]> {
  return linesOf(await runGit(context, commands.visited(ref)));
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean);
}
