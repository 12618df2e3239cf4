import { join, normalize } from 'node:path';
import { compareProblems, type Problem } from '../../desired/problem.ts';
import { HoldfastError } from '../../errors.ts';
import { AppliedState } from '../../plan/applied.ts';
import { deviceMoves, effectsOf } from '../../plan/effect.ts';
import { makePlan } from '../../plan/plan.ts';
import { stateAt } from '../../preview/state-at.ts';
import { keyOf, parseKey } from '../../protocol/name.ts';
import { alsoLost, LOST_TIME, NOTHING_LOST } from '../../rollback/also-lost.ts';
import type { NewestChanges } from '../../rollback/later-changes.ts';
import { type RollbackAct, messageOf as rollbackMessage } from '../../rollback/message.ts';
import type { Blame, Rollback, RollbackEdit } from '../../rollback/rollback.ts';
import type { Selection } from '../../rollback/selection.ts';
import { editedFiles, type Target, workOut } from '../../rollback/work-out.ts';
import { openUserGit } from '../../source/git/user-git.ts';
import { printable } from '../../text/printable.ts';
import { describeProblems, prefixProblems, prefixSteps, suggestObjects } from '../check/fleet.ts';
import { type CommandArguments, parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { type Findings, findingsJson, renderFindings } from '../shell/report.ts';
import { commitTo } from './commit-then.ts';
import { commitOf, type OpenPast, parseObject, withPast, withShallowHint } from './past.ts';
import { applyEdits, refuseChanged } from './rollback-files.ts';
import { meantHint } from './wrong-object.ts';

/** Runs `holdfast rollback`: edits the user's files so that objects are again as they were. */
export async function rollback(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const parsed = parseCommand<'text' | 'json'>(COMMANDS.rollback, args);
  const { options } = parsed;
  if (options['to'] !== undefined && options['undo'] !== undefined)
    throw new UsageError('rollback takes either --to REVISION or --undo REVISION');
  if (options['to'] === undefined && options['undo'] === undefined)
    throw new UsageError(
      `say which commit: --to REVISION, to go back to it, or --undo REVISION. To see them: ${['holdfast history', parsed.operand ?? ''].join(' ').trim()}`,
    );
  if (options['to'] !== undefined) selectionOf(parsed);
  else if (options['group'] !== undefined || options['all'] !== undefined)
    throw new UsageError('--group and --all go with --to; --undo takes back all that the commit changed');
  const folder = options['desired-state'] as string | undefined;
  return withPast(folder, io, (past) => runRollback(parsed, past, io));
}

async function runRollback(
  parsed: CommandArguments<'text' | 'json'>,
  past: OpenPast,
  io: CommandIo,
): Promise<ExitCode> {
  const { act, way } = await asAsked(parsed, past, io);
  const { options, format } = parsed;
  const isDryRun = options['dry-run'] === true;
  const lost = await lostWith(act, way, past, isDryRun || options['commit'] !== true);
  const findings = await previewOf(way, past);
  const isBlocked =
    way.needs.length > 0 ||
    way.conflicts.length > 0 ||
    findings.problems.some(({ severity }) => severity === 'error');
  let outcome = 'Nothing was changed.';
  if (way.edits.length === 0)
    outcome = isBlocked ? outcome : 'Nothing differs: there is nothing to take back.';
  else if (!isBlocked && !isDryRun) {
    const message = rollbackMessage(act, findings.steps, (options['reason'] as string | undefined) ?? null);
    outcome = await carryOut(way.edits, options['commit'] === true ? message : null, past, io);
  }
  io.write(
    format === 'json'
      ? `${findingsJson(findings, extrasOf(way, lost, past.folder))}\n`
      : `${textOf(way, lost, findings, io)}${outcome}\n`,
  );
  return isBlocked ? EXIT.problems : EXIT.ok;
}

/** Returns what a restore is about. Throws a UsageError if that is not said, or twice. */
function selectionOf({ operands, options }: CommandArguments<string>): Selection {
  const group = options['group'] as string | undefined;
  const ways = [operands.length > 0, group !== undefined, options['all'] === true].filter(Boolean).length;
  if (ways === 0)
    throw new UsageError(
      'name what goes back: an object, as in holdfast rollback app/web --to REVISION, --group NAME or --all',
    );
  if (ways > 1) throw new UsageError('rollback takes objects, --group NAME or --all, one of the three');
  const withApps = options['with-apps'] === true;
  if (group !== undefined) return { group, withApps };
  if (withApps) throw new UsageError('--with-apps goes with --group NAME');
  return options['all'] === true ? { all: true } : { objects: operands.map(parseObject) };
}

/** Works out the way back that the command asks for. */
async function asAsked(
  parsed: CommandArguments<string>,
  past: OpenPast,
  io: CommandIo,
): Promise<{ act: RollbackAct; way: Rollback }> {
  const { revisions } = past;
  const { operands, options } = parsed;
  const withDependencies = options['with-dependencies'] === true;
  const allowDelete = options['allow-delete'] === true;
  const revision =
    options['to'] === undefined
      ? await commitOf(String(options['undo']), '--undo', revisions)
      : await commitTo(String(options['to']), options, past, io);
  try {
    const objects = operands.length === 0 ? null : operands.map(parseObject);
    const target: Target =
      options['to'] === undefined
        ? { undo: revision, objects }
        : { to: revision, selection: selectionOf(parsed) };
    return await workOut(target, { withDependencies, allowDelete }, past, revisions);
  } catch (error) {
    throw withShallowHint(withMeant(error, onlyObject(parsed), past), revisions);
  }
}

/** Returns the object that an error of an absent object can only be about; undefined if there are several. */
function onlyObject({ operands, options }: CommandArguments<string>): string | undefined {
  if (options['group'] !== undefined) return `device_group/${options['group']}`;
  return operands.length === 1 ? operands[0] : undefined;
}

/** Adds to the error of an object that is not there which one was probably meant, or how to find when it was. */
function withMeant(error: unknown, operand: string | undefined, { desired }: OpenPast): unknown {
  if (operand === undefined || !(error instanceof HoldfastError) || error.kind !== 'absent') return error;
  const object = parseObject(operand);
  const hint = meantHint(object, desired.keys());
  const key = keyOf(object.kind, object.name);
  const advice = hint === '' ? `; holdfast history ${key} lists what there was of it` : hint;
  return new HoldfastError(error.kind, error.message + advice, error.details, error);
}

/** Plans the edits on the fleet at `HEAD`, which has them from then on. */
async function previewOf(way: Rollback, past: OpenPast): Promise<Findings> {
  const { folder, desired, revisions, revision, defaults } = past;
  const applied = (await stateAt(revisions, revision, defaults))?.applied ?? new AppliedState();
  const touched = desired.apply(await editedFiles(way.edits, defaults));
  const { steps, problems: found } = makePlan(touched, desired, applied, suggestObjects(desired));
  const problems = [
    ...(way.refused?.problems ?? []),
    ...[...touched].flatMap((key) => {
      const { kind, name } = parseKey(key);
      return [...desired.problemsOf(kind, name), ...(found.get(key) ?? [])];
    }),
  ];
  const shown = prefixProblems(folder, unique(problems).sort(compareProblems));
  const summary = shown.length === 0 ? '' : `${describeProblems(shown)}.`;
  return {
    problems: shown,
    steps: prefixSteps(folder, steps),
    effects: effectsOf(steps, applied),
    moves: deviceMoves(steps, applied),
    summary,
  };
}

function unique(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

/** Writes the files and, with a message, commits them: all or none. Resolves to a sentence that says what was done. */
async function carryOut(
  edits: readonly RollbackEdit[],
  message: string | null,
  { folder }: OpenPast,
  io: CommandIo,
): Promise<string> {
  const git = await openUserGit(folder, io.env);
  const inRepository = (path: string): string => (git.prefix === '' ? path : `${git.prefix}/${path}`);
  const files = edits.map(({ path, text }) => ({ path: inRepository(path), text }));
  await refuseChanged(files, git);
  const commit = await applyEdits(files, message, git);
  const names = edits.map(({ path }) => printable(normalize(join(folder, path)))).join(' ');
  return commit === null
    ? `Edited ${names}; nothing is committed. To drop this: git restore ${names}`
    : `Committed ${commit.slice(0, 12)}.`;
}

/** Resolves to what goes with a restore, as far as there is time to look for it; to nothing without a preview. */
async function lostWith(
  act: RollbackAct,
  way: Rollback,
  past: OpenPast,
  isPreview: boolean,
): Promise<NewestChanges> {
  if (!isPreview) return NOTHING_LOST;
  const end = performance.now() + LOST_TIME;
  return alsoLost(act, way, past, past.revisions, () => performance.now() > end);
}

function textOf(way: Rollback, lost: NewestChanges, findings: Findings, { hasColors }: CommandIo): string {
  const lines = [
    ...way.conflicts.map((blame) => `conflict: ${blameText(blame)}, after that commit; this stays as it is`),
    ...way.needs.map(({ object, why }) => `needed: ${object}: ${printable(why)}`),
    ...(way.needs.length === 0
      ? []
      : [`  --with-dependencies brings apps back; --allow-delete deletes objects`]),
    ...(way.refused?.newestValid == null
      ? []
      : [`The newest valid version before it: ${way.refused.newestValid.slice(0, 12)}`]),
    ...lost.changes.map((blame) => `also taken back: ${blameText(blame)}`),
    ...(lost.isComplete ? [] : ['Perhaps more is taken back: there are too many commits to look at.']),
  ];
  const plan = renderFindings(findings, 'text', hasColors).replace(/\n\n$/, '\n');
  return `${plan === '\n' ? '' : plan}${lines.map((line) => `${line}\n`).join('')}`;
}

function blameText({ object, field, by, actor }: Blame): string {
  const what = field === null ? object : `${field} of ${object}`;
  return printable(`${what}, changed by ${actor || 'somebody'} in ${by.slice(0, 12)}`);
}

function extrasOf(way: Rollback, lost: NewestChanges, folder: string): Record<string, unknown> {
  return {
    files: way.edits.map(({ path, text }) => ({ path: normalize(join(folder, path)), after: text })),
    needs: way.needs,
    also_lost: lost.changes,
    also_lost_complete: lost.isComplete,
    conflicts: way.conflicts,
    newest_valid: way.refused?.newestValid ?? null,
  };
}
