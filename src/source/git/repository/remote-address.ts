import { commands } from '../process/commands.ts';
import { askGit } from '../process/run.ts';
import type { Repository } from './repository.ts';

/**
 * Resolves to the address of the remote that a clone comes from, as its settings have it, perhaps with credentials: of `origin`, or
 * of the only one. Null if there is none.
 */
export async function remoteAddress({ context }: Pick<Repository, 'context'>): Promise<string | null> {
  const listed = (await askGit(context, commands.remoteAddresses())) ?? '';
  const addresses = new Map<string, string>();
  for (const record of listed.split('\0')) {
    const [key = '', url] = record.split('\n');
    // Of several addresses of a remote, git fetches from the first.
    if (url !== undefined && !addresses.has(key)) addresses.set(key, url);
  }
  const [only = null] = addresses.size === 1 ? addresses.values() : [];
  return addresses.get('remote.origin.url') ?? only;
}
