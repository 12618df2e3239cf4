import type { Problem } from '../desired/problem.ts';
import type { DesiredState } from '../desired/state.ts';
import type { AppDefaults } from '../protocol/app.ts';
import type { ObjectKey } from '../protocol/name.ts';

/** The fleet from which the way back begins. */
export interface Present {
  /** Full commit id. */
  revision: string;
  /** The files at this commit; the history has their blobs. */
  desired: DesiredState;
  defaults: AppDefaults;
}

/** What a way back may do to other objects. */
export interface RollbackOptions {
  /** Whether apps that a group needs come back as well. */
  withDependencies: boolean;
  /** Whether objects that did not exist then are deleted. */
  allowDelete: boolean;
}

/** The text that a file gets; null removes it. The path is below the folder. */
export interface RollbackEdit extends ObjectKey {
  path: string;
  text: string | null;
}

/** Another object that stands in the way, and why. */
export interface Need {
  object: string;
  why: string;
}

/** The last change of a field. `field` is null for the object as a whole. */
export interface Blame {
  object: string;
  field: string | null;
  /** Full commit id. */
  by: string;
  actor: string;
}

/** The files of a revision that today's rules refuse. */
interface RefusedFiles {
  problems: Problem[];
  /** The newest commit before it in which the first of these files is valid; null if there is none. */
  newestValid: string | null;
}

/** A way back. It can be taken if nothing is needed, in conflict or refused. */
export interface Rollback {
  /** At most one for each path; none if nothing differs. */
  edits: RollbackEdit[];
  needs: Need[];
  /** Later changes that an undo would take back, and does not. */
  conflicts: Blame[];
  refused: RefusedFiles | null;
}

/** Returns a way back that changes nothing. */
export function emptyRollback(): Rollback {
  return { edits: [], needs: [], conflicts: [], refused: null };
}
