import { join } from 'node:path';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import type { ProcessManager } from '../support/process-manager.ts';
import type { Reply } from '../support/reply.ts';

/** The files of `SMALL_FLEET` in a repository. */
export const FLEET = inDesiredState(SMALL_FLEET);
/** The path of its app `web`. */
export const WEB = '/api/v2/apps/web';

/** Makes a repository with the fleet, and a path for a data folder. */
export async function newFleet(): Promise<{ repository: TestRepository; dataFolder: string }> {
  const repository = await testRepository();
  await repository.commit(FLEET);
  return { repository, dataFolder: join(await temporaryFolder(), 'data') };
}

/** Updates the image of the app `web`. */
export function changeWeb(manager: ProcessManager, image: string): Promise<Reply> {
  return manager.request('PUT', `${WEB}/update`, { container_image: image });
}
