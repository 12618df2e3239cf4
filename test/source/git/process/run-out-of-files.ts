import { closeSync, openSync } from 'node:fs';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { Conversation } from '../../../../src/source/git/process/conversation.ts';
import { gitEnvironment } from '../../../../src/source/git/process/environment.ts';
import { runGit } from '../../../../src/source/git/process/run.ts';
import { createTransfers } from '../../../../src/source/git/process/transfer.ts';

/** Runs git in three ways while no file can be opened, and again when it can. Prints the outcomes as JSON. */
const context = { folder: '/', env: gitEnvironment({ PATH: process.env['PATH'] }, ['*']), timeLimit: 20_000 };
const git = new Conversation(context, commands.fastImport());
const calls: Record<string, () => Promise<unknown>> = {
  run: () => runGit(context, commands.version()),
  transfer: () => createTransfers(context).run(commands.version(), { total: 20_000, silence: 20_000 }),
  conversation: () => git.ask('', async () => 'started'),
};
const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // None is left.
}
const outcomes: Record<string, string[]> = {};
for (const [name, call] of Object.entries(calls)) {
  const refused = await call().catch((error: unknown) => String((error as Error).name));
  outcomes[name] = [String(refused)];
}
for (const descriptor of taken) closeSync(descriptor);
for (const [name, call] of Object.entries(calls)) {
  const answer = await call().catch((error: unknown) => String(error));
  outcomes[name]?.push(String(answer).replace(/ version.*/s, ' version'));
}
process.stdout.write(`${JSON.stringify(outcomes)}\n`);
process.exit(0);
