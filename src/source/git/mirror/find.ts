import { unreachable } from '../origin/errors.ts';
import { commands } from '../process/commands.ts';
import { isShortRefName, NO_BRANCH } from '../process/ref-names.ts';
import type { Limit } from '../process/run.ts';
import { GitFailure, stderrOf } from '../process/run.ts';
import type { Transfers } from '../process/transfer.ts';

const FULL_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
/** Where forges keep the heads of pull requests. */
const PULL_REQUESTS: Readonly<Record<string, string>> = {
  pr: 'refs/pull/NUMBER/head',
  mr: 'refs/merge-requests/NUMBER/head',
};

/**
 * Looks for a branch, a tag, a pull request (`pr/12`, `mr/12`) or a full id at origin, and fetches its commit without a ref:
 * the next clean-ups drop it again. Resolves to its full id; null if origin does not have it. Rejects with an
 * OriginUnavailable.
 */
export async function findAtOrigin(name: string, transfers: Transfers, limit: Limit): Promise<string | null> {
  if (FULL_ID.test(name)) return fetchObject(name, name, transfers, limit);
  if (!isShortRefName(name)) return null;
  const refs = refsOf(name);
  const listed = await transfers.run(commands.originRefs(...refs), limit).catch((error: unknown) => {
    throw unreachable(error);
  });
  const ids = new Map(
    listed.split('\n').map((line): [string, string] => {
      const [id = '', ref = ''] = line.split('\t');
      return [ref, id];
    }),
  );
  for (const ref of refs) {
    // Of a tag with a message, this is the commit.
    const id = ids.get(`${ref}^{}`) ?? ids.get(ref);
    if (id !== undefined) return fetchObject(id, ref, transfers, limit);
  }
  return null;
}

function refsOf(name: string): string[] {
  const [, kind = '', number = ''] = /^(pr|mr)\/(\d{1,9})$/.exec(name) ?? [];
  const pull = PULL_REQUESTS[kind]?.replace('NUMBER', number);
  return [...(pull === undefined ? [] : [pull]), `refs/heads/${name}`, `refs/tags/${name}`];
}

async function fetchObject(
  id: string,
  wanted: string,
  transfers: Transfers,
  limit: Limit,
): Promise<string | null> {
  try {
    await transfers.run(commands.fetchOne(wanted), limit);
    return id;
  } catch (error) {
    // Forges give out only ids that a ref reaches.
    const isAbsent =
      error instanceof GitFailure && (NO_BRANCH.test(stderrOf(error)) || NOT_OURS.test(stderrOf(error)));
    if (isAbsent) return null;
    throw unreachable(error);
  }
}

const NOT_OURS = /not our ref|unadvertised object/;
