import type { AppDefaults } from '../desired/app.ts';
import { compareProblems, fileProblem, inFile, type Problem } from '../desired/problem.ts';
import type { DesiredState } from '../desired/state.ts';
import { HoldfastError } from '../errors.ts';
import { AppliedState } from '../plan/applied.ts';
import { effectsOf } from '../plan/effect.ts';
import { makePlan } from '../plan/plan.ts';
import { printable } from '../plan/printable.ts';
import type { Step } from '../plan/step.ts';
import type { RevisionReader } from '../source/git/read/revisions.ts';
import { parseCommand } from './arguments.ts';
import { type Base, baseAt } from './base.ts';
import { warnOfDivergence } from './divergence.ts';
import {
  countErrors,
  countProblems,
  fleetSettings,
  problemsFromHere,
  stepsFromHere,
  warnOfNoFleet,
} from './fleet.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from './io.ts';
import { type Findings, renderFindings } from './report.ts';
import { listFolder, loadWorkTree, openRepository } from './work-tree.ts';

const NO_REVISION =
  '--against is empty; if it is the output of a command, as in --against "$(git merge-base …)", that command found no such commit';

/** CI makes such clones, where most revisions that people name are missing. */
const FETCH_MORE =
  '; this clone is shallow: fetch the whole history first (git fetch --unshallow, or fetch-depth: 0)';

/** `holdfast plan`: what a folder, as it lies on the disk, would change in what a revision has. */
export async function plan(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const {
    folder: given,
    format,
    options,
  } = parseCommand('plan', args, [{ name: 'against', value: 'REVISION' }, { name: 'exit-code' }]);
  const { folder, defaults } = fleetSettings(io, given);
  const { desired, applied } = await readSides(
    folder,
    options['against'] as string | undefined,
    defaults,
    io,
  );
  const keys = new Set([...desired.keys(), ...applied.keys()]);
  const { steps, problems: between } = makePlan(keys, desired, applied);
  const found = [...desired.problems(), ...[...between.values()].flat(), ...emptiedProblem(desired, applied)];
  const problems = problemsFromHere(folder, found.sort(compareProblems));
  const findings: Findings = {
    problems,
    steps: stepsFromHere(folder, steps),
    effects: effectsOf(steps, applied),
    summary: summarize(steps, problems),
  };
  io.write(renderFindings(findings, format, io.hasColors));
  const isNews = options['exit-code'] === true && steps.length > 0;
  return countErrors(problems) > 0 || isNews ? EXIT.problems : EXIT.ok;
}

/** The manager refuses a commit that empties the folder, unless its message says that this is meant. */
function emptiedProblem(desired: DesiredState, applied: AppliedState): Problem[] {
  if (!desired.isEmpty || applied.isEmpty) return [];
  const message =
    'no objects are left in this folder; the manager refuses that, unless the commit has the trailer "Allow-Empty: true"';
  return [inFile('', fileProblem('folder-empty', message), 'warning')];
}

/** What the folder says, and what a store would hold that has applied this revision and nothing else. */
async function readSides(
  folder: string,
  against: string | undefined,
  defaults: AppDefaults,
  io: CommandIo,
): Promise<{ desired: DesiredState; applied: AppliedState }> {
  const entries = await listFolder(folder);
  const revisions = await openRepository(folder, io);
  try {
    const desired = await loadWorkTree(folder, entries, defaults, revisions);
    await warnOfNoFleet(folder, io);
    return { desired, applied: await appliedAt(folder, against, defaults, revisions, io) };
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
  const base = await baseAt(revisions, against ?? 'HEAD', defaults);
  // A repository without a commit has nothing to compare with; a name that somebody wrote has to be there.
  if (base === null && against !== undefined) throw await noCommit(against, revisions);
  if (base !== null) warnOf(base, against ?? 'HEAD', io);
  if (against !== undefined) await warnOfDivergence(revisions, against, io);
  return base?.applied ?? new AppliedState();
}

async function noCommit(against: string, revisions: RevisionReader): Promise<HoldfastError> {
  const found = revisions.isShallow ? null : await revisions.entriesAt(`origin/${against}`).catch(() => null);
  const remote = found === null ? '' : `; did you mean origin/${against}?`;
  const what = against === '' ? NO_REVISION : `"${against}" is not a commit of this repository`;
  const message = what + (revisions.isShallow ? FETCH_MORE : '') + remote + rangeHint(against);
  return new HoldfastError('invalid', message);
}

/** Whoever knows `git diff main...HEAD` may try the same here. */
function rangeHint(against: string): string {
  const [, from, end] = /^(.*?)\.\.\.?(.*)$/.exec(against) ?? [];
  if (from === undefined) return '';
  return `; plan takes one commit, not a range. For what a branch changes: --against "$(git merge-base ${from || 'HEAD'} ${end || 'HEAD'})"`;
}

/** What a manager holds of an invalid file cannot be known for certain: it may not have seen every commit. */
function warnOf({ invalid, unknown }: Base, revision: string, io: CommandIo): void {
  if (invalid.length === 0) return;
  const names = (paths: readonly string[]): string => paths.map(printable).join(', ');
  io.complain(
    `holdfast: warning: ${printable(revision)} has invalid files: ${names(invalid)}. A manager keeps what it applied of them last; ` +
      'the plan takes that from earlier commits, as if each had been applied.\n',
  );
  if (unknown.length === 0) return;
  io.complain(
    `holdfast: warning: the plan is incomplete: the available history has no valid content of ${names(unknown)}. ` +
      'If a manager has some, its deletion or change is not shown here.\n',
  );
}

function summarize(steps: readonly Step[], problems: readonly Problem[]): string {
  const found = problems.length === 0 ? '' : countProblems(problems);
  if (steps.length === 0) return found === '' ? 'No changes.' : `No changes, ${found}.`;
  const creates = steps.filter(({ before }) => before === null).length;
  const deletes = steps.filter(({ after }) => after === null).length;
  const updates = steps.length - creates - deletes;
  const told = `Plan: ${creates} to create, ${updates} to update, ${deletes} to delete`;
  return found === '' ? `${told}.` : `${told}; ${found}.`;
}
