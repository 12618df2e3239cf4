import { spawn } from 'node:child_process';

/** What decides whether a text goes through a pager. */
interface Terminal {
  env: Readonly<Record<string, string | undefined>>;
  /** Null if standard output is no terminal. */
  size: { rows: number; columns: number } | null;
  write(text: string): void;
}

/** Characters that take no room: the colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is meant
const COLORS = /\u001b\[[\d;]*m/g;

/**
 * Writes a text, on a terminal through the user's pager (`PAGER`, by default `less`) if it is too long for the screen. Resolves once
 * it was read.
 */
export async function page(text: string, { env, size, write }: Terminal): Promise<void> {
  const pager = env['PAGER'] ?? 'less';
  const isWanted = pager !== '' && pager !== 'cat' && env['TERM'] !== 'dumb';
  if (size === null || !isWanted || rowsOf(text, size.columns) < size.rows) write(text);
  else if (!(await runPager(pager, text, env))) write(text);
}

function rowsOf(text: string, columns: number): number {
  const lines = text.replace(COLORS, '').split('\n');
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / columns)), 0);
}

/** The exit code of a shell that finds no such program. */
const NOT_FOUND = 127;

/** Resolves to whether there is such a pager. As with git, colours get through, and a text stays on the screen. */
function runPager(pager: string, text: string, env: Terminal['env']): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(pager, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { LESS: 'FRX', LV: '-c', ...env },
    });
    // Ctrl-C is for the pager, which the terminal belongs to.
    const ignore = (): void => undefined;
    process.on('SIGINT', ignore);
    const end = (isThere: boolean): void => {
      process.off('SIGINT', ignore);
      resolve(isThere);
    };
    child.on('error', () => end(false));
    child.on('close', (code) => end(code !== NOT_FOUND));
    // A pager that is left early closes its input.
    child.stdin.on('error', ignore);
    child.stdin.end(text);
  });
}
