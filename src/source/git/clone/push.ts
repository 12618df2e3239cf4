import { constants } from 'node:fs';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readIfExists } from '../../../disk/read.ts';
import { HoldfastError } from '../../../errors.ts';
import { accessConfig, NO_CREDENTIALS, shellQuoted } from '../origin/access.ts';
import { OriginUnavailable } from '../origin/errors.ts';
import { type PushOutcome, pushRef } from '../origin/origin.ts';
import { commands } from '../process/commands.ts';
import { diskTrouble, explainFailure } from '../process/disk-trouble.ts';
import { withConfig } from '../process/environment.ts';
import { emptyTreeIdLike } from '../process/object-ids.ts';
import { type GitContext, GitFailure, runGit } from '../process/run.ts';
import { createTransfers } from '../process/transfer.ts';
import { branchTip } from '../refs/tips.ts';
import { withoutPrograms } from '../repository/programs.ts';
import type { Repository } from '../repository/repository.ts';
import { failureOfPush, isHookRefusal, isLocked, publishError } from './refusals.ts';

/** How long a push waits for a lock that another git process holds, and how long between two attempts (milliseconds). */
const PATIENCE = 5000;
const INTERVAL = 50;

/**
 * Moves index and work tree from the commit that the push replaces to the new one. That commit is not read from HEAD: a
 * user's commit that came in between would be reverted. git runs the hook before it moves the branch, so it must not begin
 * while the branch is locked. During a bisection, git takes a branch for checked out that is not. It sets the work tree since git (2.39) is wrong about that of a submodule. A file that was
 * only touched looks changed until the index is refreshed. A switch of branches releases the index just before it moves
 * HEAD: then the step is taken back, and the push tried again.
 */
const HOOK = `#!/bin/sh
test "$HOLDFAST_CHECKED_OUT" = true || exit 0
test "$GIT_DIR" -ef "$HOLDFAST_GIT_DIR" || { echo 'error: another work tree has the branch checked out' >&2; exit 1; }
test -e "$HOLDFAST_REF_LOCK" && { echo "error: Unable to create '$HOLDFAST_REF_LOCK': File exists" >&2; exit 1; }
export GIT_WORK_TREE="$HOLDFAST_WORK_TREE"
said=$(git read-tree -u -m "$HOLDFAST_FROM" "$1" 2>&1) || case $said in
  *'not uptodate'*) git update-index -q --refresh; git read-tree -u -m "$HOLDFAST_FROM" "$1" || exit ;;
  *) printf '%s\\n' "$said" >&2; exit 1 ;;
esac
IFS= read -r head < "$GIT_DIR/HEAD" && test "$head" != "$HOLDFAST_HEAD" || exit 0
git read-tree -u -m "$1" "$HOLDFAST_FROM"
echo "error: Unable to create '$GIT_DIR/HEAD.lock': File exists" >&2
exit 1
`;

/**
 * Syncs the new objects before the ref names one of them, with the folders that have their names: git syncs what it writes
 * to a file, but never a folder, and a file system may keep a moved branch and lose the objects. It writes no object that is
 * there already, and whoever did may not have synced it. An object without a file of its own is in a pack.
 */
const SYNC_HOOK = `#!/bin/sh
cd "$HOLDFAST_OBJECTS" || exit
sync_new() {
  set -- .
  for folder in pack $HOLDFAST_FOLDERS; do test -d "$folder" && set -- "$@" "$folder"; done
  for name in $HOLDFAST_FILES; do test -e "$name" && set -- "$@" "$name" "\${name%/*}"; done
  sync "$@"
}
# A clean-up can remove an object that is in a pack, too.
sync_new 2>/dev/null || sync_new
`;

/** Objects whose names fit into a variable of the environment. */
const MOST_NAMES = 1000;
const ALL_FOLDERS = '[0-9a-f][0-9a-f]';

/** What the hook syncs: the files that these objects have unless they are in a pack, or all folders if there are too many. */
function namesOf(objects: ReadonlySet<string>): { HOLDFAST_FILES: string; HOLDFAST_FOLDERS: string } {
  if (objects.size > MOST_NAMES) return { HOLDFAST_FILES: '', HOLDFAST_FOLDERS: ALL_FOLDERS };
  const names = Array.from(objects, (id) => `${id.slice(0, 2)}/${id.slice(2)}`);
  return { HOLDFAST_FILES: names.join(' '), HOLDFAST_FOLDERS: '' };
}

const HOOKS: Readonly<Record<string, string>> = {
  'push-to-checkout': HOOK,
  update: SYNC_HOOK,
};

/** Settings of the git that receives a push, beside those of every git. No setting of the clone itself changes. */
const RECEIVING: readonly (readonly [string, string])[] = [
  ['receive.denyCurrentBranch', 'updateInstead'],
  ['receive.autogc', 'false'],
  ['receive.maxInputSize', '0'],
  // If the clone borrows objects, git would run the command that this setting of the clone names.
  ['core.alternateRefsCommand', 'true'],
  // The clone is named by its path; who owns it was decided when it was opened.
  ['safe.directory', '*'],
];

/** Pushes from the staging repository into the clone. */
export interface ClonePusher {
  /**
   * Moves a ref of the clone by compare-and-swap (`from` is null for a ref that must not exist); if the branch is checked
   * out, index and work tree move with it. If anything is in the way, nothing moves. Waits some seconds for a lock. Rejects
   * as `Origin.push`; if the outcome is not known from git, it is read from the clone.
   */
  push(push: Push): Promise<PushOutcome>;
}

/** A push of one ref. */
interface Push {
  ref: string;
  from: string | null;
  to: string;
  /** The ids of all objects that are new. */
  objects: ReadonlySet<string>;
  /** Whether index and work tree move with the ref. */
  isCheckedOut: boolean;
  /** Is called before each attempt; resolves to whether the push still has to wait, and can reject. */
  mustWait(): Promise<boolean>;
}

/** Writes the hooks to the data folder, and returns the pusher. */
export async function createClonePusher(
  clone: Repository,
  staging: Repository,
  dataFolder: string,
): Promise<ClonePusher> {
  const hooks = join(dataFolder, 'hooks');
  // git would run the hooks of an earlier version, too.
  await rm(hooks, { recursive: true, force: true });
  await writeHooks(hooks);
  return {
    push: async (push) => {
      await requireHooks(hooks);
      const safe = await withoutPrograms(clone);
      const head = ((await readIfExists(join(clone.gitFolder, 'HEAD'))) ?? '').split('\n', 1)[0] ?? '';
      const env = { ...pushEnvironment(safe, staging, hooks, push), HOLDFAST_HEAD: head };
      const context = { ...staging.context, env };
      try {
        const outcome = await pushPatiently(context, push);
        if (outcome.kind === 'done') return outcome;
        await takeBack(safe, push);
        return refuseTrouble(outcome);
      } catch (error) {
        return await outcomeOfFailure(safe, push, error);
      }
    },
  };
}

async function writeHooks(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [name, script] of Object.entries(HOOKS)) {
    await writeFile(join(folder, 'new'), script, { mode: 0o700 });
    await rename(join(folder, 'new'), join(folder, name));
  }
}

/** Makes sure that git can run the hooks: without them, git would update the work tree by rules of its own. */
async function requireHooks(folder: string): Promise<void> {
  const check = async (): Promise<void> => {
    for (const name of Object.keys(HOOKS)) await access(join(folder, name), constants.X_OK);
  };
  try {
    await check().catch(() => writeHooks(folder).then(check));
  } catch (error) {
    const sentence = 'hooks/push-to-checkout in DATA_DIR cannot be run';
    const isForbidden = (error as NodeJS.ErrnoException).code === 'EACCES';
    const advice = 'allow programs on its file system (mount it without noexec)';
    const message = isForbidden ? `${sentence}; ${advice}` : explainFailure(sentence, error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

async function pushPatiently(context: GitContext, push: Push): Promise<PushOutcome> {
  const { ref, from, to, mustWait } = push;
  const limit = { total: context.timeLimit, silence: context.timeLimit };
  // A checkout that ends halfway leaves files for a person to put in order.
  const transfers = createTransfers(context, { signal: 'SIGTERM', outlivesExit: true });
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const isLate = performance.now() > deadline;
    if (isLate || !(await mustWait())) {
      try {
        return await pushRef(transfers, limit, ref, from, to);
      } catch (error) {
        if (isLate || !isLocked((error as Error).cause)) throw error;
      }
    }
    await sleep(INTERVAL);
  }
}

/** Throws if the branch was not moved because the disk could not be written. */
function refuseTrouble(outcome: PushOutcome): PushOutcome {
  const failure = failureOfPush(outcome);
  if (failure === null || diskTrouble(failure) === null) return outcome;
  throw publishError(failure, []);
}

/** Reads from the clone what a push did that has failed; its processes have ended. */
async function outcomeOfFailure(clone: Repository, push: Push, error: unknown): Promise<PushOutcome> {
  const tip = await branchTip(clone, push.ref).catch(() => undefined);
  if (tip === push.to) return { kind: 'done', reason: '' };
  if (!isHookRefusal((error as Error).cause)) await takeBack(clone, push);
  if (tip !== undefined || !(error instanceof OriginUnavailable)) throw error;
  throw new OriginUnavailable(error.message, { isSent: true, isLate: error.isLate }, error.cause);
}

/**
 * Brings index and work tree from a commit that the branch was not moved to back to where the branch is: git updates them
 * before it moves the branch. Does nothing to files that are not as in that commit.
 */
async function takeBack(clone: Repository, push: Push): Promise<void> {
  if (!push.isCheckedOut) return;
  for (const deadline = performance.now() + PATIENCE; ; ) {
    try {
      const tip = await branchTip(clone, push.ref);
      await runGit(clone.context, commands.switchTree(push.to, tip ?? emptyTreeIdLike(push.to)));
      return;
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      // Objects that never arrived, or work of a user: then there is nothing to take back.
      if (!isLocked(error) || performance.now() > deadline) return;
    }
    await sleep(INTERVAL);
  }
}

function pushEnvironment(
  clone: Repository,
  staging: Repository,
  hooks: string,
  { ref, from, to, objects, isCheckedOut }: Push,
): Record<string, string> {
  const { context, gitFolder, commonFolder } = clone;
  const receiving = withConfig(context.env, [
    ...RECEIVING,
    ['core.hooksPath', hooks],
    // git (from 2.39 on) checks new commits against the refs that it shows: a broken one elsewhere must not end all writes.
    ['receive.hideRefs', 'refs'],
    ['receive.hideRefs', `!${ref}`],
  ]);
  const access = accessConfig({ ...NO_CREDENTIALS, url: gitFolder });
  const env = withConfig(staging.context.env, [
    ...access,
    ['remote.origin.receivepack', receiveCommand(receiving)],
  ]);
  return {
    ...env,
    GIT_ALLOW_PROTOCOL: 'file',
    HOLDFAST_CHECKED_OUT: String(isCheckedOut),
    HOLDFAST_GIT_DIR: gitFolder,
    HOLDFAST_OBJECTS: join(commonFolder, 'objects'),
    ...namesOf(objects),
    HOLDFAST_WORK_TREE: context.folder,
    HOLDFAST_REF_LOCK: `${commonFolder}/${ref}.lock`,
    HOLDFAST_FROM: from ?? emptyTreeIdLike(to),
  };
}

/** The variables that git keeps from the git at the other end, which needs them as every git of the manager does. */
const KEPT_BACK = /^GIT_(CONFIG_(COUNT|KEY_\d+|VALUE_\d+)|GRAFT_FILE|NO_REPLACE_OBJECTS|ALLOW_PROTOCOL)$/;

/** The command that receives a push, for the shell in which git runs it. */
function receiveCommand(env: Readonly<Record<string, string>>): string {
  const variables = Object.entries(env).filter(([name]) => KEPT_BACK.test(name));
  return [...variables.map(([name, value]) => `${name}=${shellQuoted(value)}`), 'git receive-pack'].join(' ');
}
