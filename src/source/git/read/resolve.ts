import { refTips } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import type { ObjectReader } from './objects.ts';

/** The shortest beginning of an id that names a commit. */
const ID = /^[0-9a-f]{4,64}$/;
/** A name of a branch or tag without git's expressions; a subset of what git-check-ref-format allows. */
const REF = /^(?!.*(\.\.|\/\/|\.lock(\/|$)|\/\.|\.$|\/$))[A-Za-z0-9][\w./+-]*$/;

/** Resolves as `Reader.resolve` does. */
export async function resolveName(
  repository: Repository,
  objects: ObjectReader,
  name: string,
): Promise<string | null> {
  const commit = ID.test(name) ? await objects.info(`${name}^{commit}`) : null;
  // git prefers a branch of that name to an id.
  if (commit?.id.startsWith(name)) return commit.id;
  if (!REF.test(name)) return null;
  const refs = ['refs/heads', 'refs/remotes/origin', 'refs/tags'].map((folder) => `${folder}/${name}`);
  const tip = (await refTips(repository, refs)).find((each) => each !== null);
  if (tip === undefined || tip === null) return null;
  return (await objects.info(`${tip}^{commit}`))?.id ?? null;
}
