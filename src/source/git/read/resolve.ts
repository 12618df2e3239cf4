import { isShortRefName } from '../process/ref-names.ts';
import { refTips } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import type { ObjectReader } from './objects.ts';

/** The shortest beginning of an id that names a commit. */
const ID = /^[0-9a-f]{4,64}$/;

/** Resolves as `Reader.resolve` does. */
export async function resolveName(
  repository: Repository,
  objects: ObjectReader,
  name: string,
): Promise<string | null> {
  const commit = ID.test(name) ? await objects.info(`${name}^{commit}`) : null;
  // git prefers a branch of that name to an id.
  if (commit?.id.startsWith(name)) return commit.id;
  if (!isShortRefName(name)) return null;
  const refs = ['refs/heads', 'refs/remotes/origin', 'refs/tags'].map((folder) => `${folder}/${name}`);
  const tip = (await refTips(repository, refs)).find((each) => each !== null);
  if (tip === undefined || tip === null) return null;
  return (await objects.info(`${tip}^{commit}`))?.id ?? null;
}
