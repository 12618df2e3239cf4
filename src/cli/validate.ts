import type { AppDefaults } from '../desired/app.ts';
import { compareProblems } from '../desired/problem.ts';
import type { DesiredState } from '../desired/state.ts';
import { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import { parseCommand } from './arguments.ts';
import {
  countErrors,
  countObjects,
  countProblems,
  fleetSettings,
  problemsFromHere,
  warnOfNoFleet,
} from './fleet.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';
import { renderFindings } from './report.ts';
import { listFolder, loadWorkTree, tryRepository } from './work-tree.ts';

/** `holdfast validate`: checks the files of a folder as a commit of them would be checked. */
export async function validate(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { folder: given, format } = parseCommand('validate', args, []);
  const { folder, defaults } = fleetSettings(io, given);
  const state = await readFolder(folder, defaults, io);
  await warnOfNoFleet(folder, io);
  const { problems: between } = makePlan(state.keys(), state, new AppliedState());
  // That an app was never valid only its history can tell. Its own file is a problem already, where it can be mended.
  const known = [...between.values()].flat().filter(({ code }) => code !== 'app-waiting');
  const problems = problemsFromHere(folder, [...state.problems(), ...known].sort(compareProblems));
  const summary = `${folder}: ${countObjects(state)}, ${countProblems(problems)}`;
  io.write(renderFindings({ problems, steps: [], effects: [], summary }, format, io.hasColors));
  return countErrors(problems) > 0 ? EXIT.problems : EXIT.ok;
}

async function readFolder(folder: string, defaults: AppDefaults, io: CommandIo): Promise<DesiredState> {
  const entries = await listFolder(folder);
  const revisions = await tryRepository(folder, io);
  try {
    return await loadWorkTree(folder, entries, defaults, revisions);
  } finally {
    await revisions?.close();
  }
}
