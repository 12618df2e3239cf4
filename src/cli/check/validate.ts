import { compareProblems } from '../../desired/problem.ts';
import { AppliedState } from '../../plan/applied.ts';
import { makePlan } from '../../plan/plan.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode } from '../shell/io.ts';
import { type Format, renderFindings } from '../shell/report.ts';
import {
  countErrors,
  describeObjects,
  describeProblems,
  fleetSettings,
  prefixProblems,
  requireFleet,
  suggestObjects,
} from './fleet.ts';
import { runOrWatch } from './watch.ts';
import { listFolder, loadWorkTree, tryRepository, type WorkTree } from './work-tree.ts';

/** Runs `holdfast validate`: checks the files of a folder as a manager would check a commit of them. */
export async function validate(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand: folderArgument, format, options } = parseCommand(COMMANDS.validate, args);
  const { folder, defaults } = fleetSettings(io, folderArgument);
  return runOrWatch(folder, { isWatching: options['watch'] === true, format }, io, () =>
    check(folder, defaults, format, io),
  );
}

async function check(
  folder: string,
  defaults: AppDefaults,
  format: Format,
  io: CommandIo,
): Promise<ExitCode> {
  const { state, warnings } = await readFolder(folder, defaults, io);
  await requireFleet(folder, state);
  const { problems: planProblems } = makePlan(state.keys(), state, new AppliedState(), suggestObjects(state));
  // `app-waiting` depends on whether the app was ever valid, which its files do not show. The cause is reported anyway,
  // as a problem of the app's own file.
  const found = [...planProblems.values()].flat().filter(({ code }) => code !== 'app-waiting');
  const problems = prefixProblems(folder, [...state.problems(), ...found, ...warnings].sort(compareProblems));
  const summary = `${folder}: ${describeObjects(state.keys())}, ${describeProblems(problems)}`;
  io.write(renderFindings({ problems, steps: [], effects: [], moves: [], summary }, format, io.hasColors));
  return countErrors(problems) > 0 ? EXIT.problems : EXIT.ok;
}

async function readFolder(folder: string, defaults: AppDefaults, io: CommandIo): Promise<WorkTree> {
  const entries = await listFolder(folder);
  const revisions = await tryRepository(folder, io);
  try {
    return await loadWorkTree(folder, entries, defaults, revisions);
  } finally {
    await revisions?.close();
  }
}
