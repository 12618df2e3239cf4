import { compareDiagnostics } from '../desired/diagnostic.ts';
import { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import { parseCommand } from './arguments.ts';
import { count, countObjects, fleetSettings, loadFolder, problemsFromHere, REAL_FILES } from './fleet.ts';
import { type CommandIo, EXIT, type ExitCode } from './io.ts';
import { renderFindings } from './report.ts';

/** `holdfast validate`: checks the files of a folder as a commit of them would be checked. */
export async function validate(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { folder: given, format } = parseCommand(args, []);
  const { folder, defaults } = fleetSettings(io, given);
  const state = await loadFolder(REAL_FILES, folder, defaults);
  const { problems: between } = makePlan(state.keys(), state, new AppliedState());
  const problems = problemsFromHere(
    folder,
    [...state.problems(), ...[...between.values()].flat()].sort(compareDiagnostics),
  );
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const summary = `${folder}: ${countObjects(state)}, ${count(errors, 'problem')}`;
  io.write(renderFindings({ problems, steps: [], effects: [], summary }, format, io.isTerminal));
  return errors > 0 ? EXIT.problems : EXIT.ok;
}
