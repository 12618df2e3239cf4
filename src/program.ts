import { readFileSync, statSync } from 'node:fs';
import { runCommand } from './cli/run.ts';
import { endProcess, openOutput } from './process/output.ts';
import { page } from './process/pager.ts';
import { PRODUCT_VERSION } from './version.ts';

/** Null if standard output is no terminal. */
function terminalSize(): { rows: number; columns: number } | null {
  const { isTTY, rows, columns } = process.stdout;
  return isTTY && rows > 0 && columns > 0 ? { rows, columns } : null;
}

const output = openOutput();
const code = await runCommand(process.argv.slice(2), {
  io: {
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    fileMode: (path) => (process.platform === 'win32' ? null : statSync(path).mode),
    write: output.write,
    page: (text) => page(text, { env: process.env, size: terminalSize(), write: output.write }),
    writeError: (text) => void process.stderr.write(text),
    now: Date.now,
    isTerminal: process.stderr.isTTY === true,
    columns: terminalSize()?.columns ?? null,
    hasColors: process.stdout.isTTY === true && process.stdout.hasColors(),
  },
  version: PRODUCT_VERSION,
  // The other commands load nothing of the manager, which takes longer than most of them.
  serve: async (config) => (await import('./serve.ts')).serve(config),
});
endProcess(output, code);
