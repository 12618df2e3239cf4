import { compareProblems } from '../desired/problem.ts';
import { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import { parseCommand } from './arguments.ts';
import {
  countErrors,
  countObjects,
  countProblems,
  fleetSettings,
  loadFolder,
  problemsFromHere,
  REAL_FILES,
  warnOfNoFleet,
} from './fleet.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';
import { renderFindings } from './report.ts';

/** `holdfast validate`: checks the files of a folder as a commit of them would be checked. */
export async function validate(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { folder: given, format } = parseCommand('validate', args, []);
  const { folder, defaults } = fleetSettings(io, given);
  const state = await loadFolder(REAL_FILES, folder, defaults);
  await warnOfNoFleet(REAL_FILES, folder, io);
  const { problems: between } = makePlan(state.keys(), state, new AppliedState());
  // That an app was never valid only its history can tell. Its own file is a problem already, where it can be mended.
  const known = [...between.values()].flat().filter(({ code }) => code !== 'app-waiting');
  const problems = problemsFromHere(folder, [...state.problems(), ...known].sort(compareProblems));
  const summary = `${folder}: ${countObjects(state)}, ${countProblems(problems)}`;
  io.write(renderFindings({ problems, steps: [], effects: [], summary }, format, io.hasColors));
  return countErrors(problems) > 0 ? EXIT.problems : EXIT.ok;
}
