import { compareProblems, fileProblem, type Problem, withFile } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import { HoldfastError, messageOf } from '../../errors.ts';
import { AppliedState } from '../../plan/applied.ts';
import { deviceMoves, type Effect, effectsOf } from '../../plan/effect.ts';
import { makePlan } from '../../plan/plan.ts';
import type { Step } from '../../plan/step.ts';
import { type StateAt, stateAt } from '../../preview/state-at.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { RevisionReader } from '../../source/git/read/revisions.ts';
import { printable } from '../../text/printable.ts';
import { managerAt } from '../manager/ask.ts';
import { parseAddress } from '../manager/client.ts';
import { countEffects } from '../manager/counted.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { type CountedEffect, type Findings, type Format, renderFindings } from '../shell/report.ts';
import { warnOfDivergence } from './divergence.ts';
import {
  countErrors,
  describeProblems,
  fleetSettings,
  prefixProblems,
  prefixSteps,
  requireFleet,
  suggestObjects,
} from './fleet.ts';
import { renderMarkdown } from './markdown.ts';
import { unknownRevision } from './unknown-revision.ts';
import { runOrWatch } from './watch.ts';
import { listFolder, loadWorkTree, openRepository, type WorkTree } from './work-tree.ts';

/** Runs `holdfast plan`: shows how the files in a folder would change the state at a revision. */
export async function plan(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand: folderArgument, format, options } = parseCommand<Format | 'markdown'>(COMMANDS.plan, args);
  const { folder, defaults } = fleetSettings(io, folderArgument);
  const isWatching = options['watch'] === true;
  return runOrWatch(folder, { isWatching, format }, io, () =>
    showPlan({ folder, defaults, format, options }, io),
  );
}

interface PlanRequest {
  folder: string;
  defaults: AppDefaults;
  format: Format | 'markdown';
  options: Readonly<Record<string, unknown>>;
}

async function showPlan(
  { folder, defaults, format, options }: PlanRequest,
  io: CommandIo,
): Promise<ExitCode> {
  const {
    state: desired,
    warnings,
    applied,
  } = await readStates(folder, options['against'] as string | undefined, defaults, io);
  const keys = new Set([...desired.keys(), ...applied.keys()]);
  const { steps, problems: planProblems } = makePlan(keys, desired, applied, suggestObjects(desired));
  const found = [
    ...desired.problems(),
    ...[...planProblems.values()].flat(),
    ...emptiedProblem(desired, applied),
    ...warnings,
  ];
  const problems = prefixProblems(folder, found.sort(compareProblems));
  const effects = await counted(effectsOf(steps, applied), options, io);
  const findings: Findings = {
    problems,
    steps: prefixSteps(folder, steps),
    effects,
    moves: deviceMoves(steps, applied),
    summary: summarize(steps, problems),
  };
  io.write(
    format === 'markdown' ? renderMarkdown(folder, findings) : renderFindings(findings, format, io.hasColors),
  );
  const isChangeReported = options['exit-code'] === true && steps.length > 0;
  return countErrors(problems) > 0 || isChangeReported ? EXIT.problems : EXIT.ok;
}

/** Has the devices of each effect counted by the manager of `--devices-from`. */
async function counted(
  effects: readonly Effect[],
  { 'devices-from': address, ...options }: Readonly<Record<string, unknown>>,
  io: CommandIo,
): Promise<readonly CountedEffect[]> {
  if (address === undefined) return effects;
  const base = parseAddress(String(address));
  if (base === null)
    throw new UsageError(
      '--devices-from must be the http:// or https:// address of a manager, without credentials',
    );
  return countEffects(managerAt(base, options as Record<string, string | boolean | undefined>, io), effects);
}

/** Warns of a folder without objects: managers refuse a commit that empties it, unless its message confirms that. */
function emptiedProblem(desired: DesiredState, applied: AppliedState): Problem[] {
  if (!desired.isEmpty || applied.isEmpty) return [];
  const message =
    'no objects are left in this folder; the manager refuses that, unless the commit has the trailer "Allow-Empty: true"';
  return [withFile('', fileProblem('folder-empty', message), 'warning')];
}

/** Reads the desired state of the folder, and the state of a manager that has applied the revision. */
async function readStates(
  folder: string,
  against: string | undefined,
  defaults: AppDefaults,
  io: CommandIo,
): Promise<WorkTree & { applied: AppliedState }> {
  const entries = await listFolder(folder);
  const revisions = await openRepository(folder, io);
  try {
    const tree = await loadWorkTree(folder, entries, defaults, revisions);
    const applied = await appliedAt(folder, against, defaults, revisions, io);
    if (applied.isEmpty) await requireFleet(folder, tree.state);
    return { ...tree, applied };
  } finally {
    await revisions?.close();
  }
}

async function appliedAt(
  folder: string,
  against: string | undefined,
  defaults: AppDefaults,
  revisions: RevisionReader | null,
  io: CommandIo,
): Promise<AppliedState> {
  if (revisions === null) {
    if (against !== undefined)
      throw new UsageError(`${folder} is not in a git repository, so there is no "${against}"`);
    return new AppliedState();
  }
  const base = await stateAt(revisions, against ?? 'HEAD', defaults).catch((error: unknown) => {
    // git fails on `@{upstream}` without an upstream and `@{9}` beyond the reflog, and says so better than we could.
    throw against?.includes('@{') ? new HoldfastError('invalid', messageOf(error), {}, error) : error;
  });
  // Without commits, HEAD does not exist and there is nothing to compare with. A named revision must exist.
  if (base === null && against !== undefined)
    throw await unknownRevision(against, { option: '--against', revisions });
  if (base !== null) warnOfInvalidFiles(base, against ?? 'HEAD', io);
  if (against !== undefined) await warnOfDivergence(revisions, against, io);
  return base?.applied ?? new AppliedState();
}

/** Warns of files whose content at a manager is uncertain: it may not have seen every commit. */
function warnOfInvalidFiles({ invalid, unknown }: StateAt, revision: string, io: CommandIo): void {
  if (invalid.length === 0) return;
  const names = (paths: readonly string[]): string => paths.map(printable).join(', ');
  io.writeError(
    `holdfast: warning: ${printable(revision)} has invalid files: ${names(invalid)}. A manager keeps what it applied of them last; ` +
      'the plan takes that from earlier commits, as if each had been applied.\n',
  );
  if (unknown.length === 0) return;
  io.writeError(
    `holdfast: warning: the plan is incomplete: the available history has no valid content of ${names(unknown)}. ` +
      'If a manager has some, its deletion or change is not shown here.\n',
  );
}

function summarize(steps: readonly Step[], problems: readonly Problem[]): string {
  const found = problems.length === 0 ? '' : describeProblems(problems);
  if (steps.length === 0) return found === '' ? 'No changes.' : `No changes, ${found}.`;
  const creates = steps.filter(({ before }) => before === null).length;
  const deletes = steps.filter(({ after }) => after === null).length;
  const updates = steps.length - creates - deletes;
  const counts = `Plan: ${creates} to create, ${updates} to update, ${deletes} to delete`;
  return found === '' ? `${counts}.` : `${counts}; ${found}.`;
}
