import { inDesiredState } from '../support/folder.ts';
import type { TestManager } from '../support/manager.ts';

/** A problem as `GET /api/v2/reconcile` reports it. */
export interface Problem {
  file: string;
  line: number;
  column: number;
  code: string;
  message: string;
}

/** Commits files below `desired-state/`, and waits until the manager has applied or refused the commit. */
export async function push(
  manager: TestManager,
  files: Readonly<Record<string, string | Uint8Array | null>>,
  message?: string,
) {
  const revision = await manager.repository.commit(inDesiredState(files), message);
  const { body } = await manager.reconcile();
  const problems: Problem[] = body.problems;
  return { revision, body, problems, problemFiles: problems.map(({ file }) => file).sort() };
}
