import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench, Line } from '../bench.ts';
import { makeBare, makeFleet } from '../fleet.ts';
import { type ManagerOptions, startManager } from '../manager.ts';
import { writeOnce } from './writes.ts';

const APPS = 1000;
const WRITES = 12;
/** Those that are left out. */
const WARM_UP = 2;

/** The end of a call that succeeded, with its time in Unix seconds: `4711 1700000000.123456 fsync(7) = 0`. */
const CALL = /^\d+ +([\d.]+) (?:<\.\.\. )?(execve|fsync|fdatasync)(?:\(| resumed).*= 0$/gm;

/** How many processes and syncs a write needs until its reply, of a manager on a work tree and of one on a remote. */
export async function writeCost(bench: Bench): Promise<Line[]> {
  const other = process.env['BENCH_OTHER'];
  const builds = [
    ['', {}] as const,
    ...(other === undefined ? [] : [[', other build', { main: other }] as const]),
  ];
  const lines: Line[] = [];
  for (const [name, build] of builds) {
    const fleet = await makeFleet(bench, APPS, APPS / 20);
    const env = { GIT_REMOTE: await makeBare(bench, fleet), DESIRED_STATE: 'desired-state' };
    lines.push(
      costLine(`a write, work tree${name}`, await countCalls(bench, { folder: fleet.folder, ...build })),
      costLine(`a write, remote${name}`, await countCalls(bench, { folder: null, env, ...build })),
    );
  }
  return lines;
}

interface Cost {
  processes: number;
  syncs: number;
}

function costLine(row: string, { processes, syncs }: Cost): Line {
  const measured = `${processes.toFixed(1)} processes, ${syncs.toFixed(1)} fsyncs`;
  return { row, measured, baseline: '', ratio: '', target: '', met: null };
}

async function countCalls(bench: Bench, options: ManagerOptions): Promise<Cost> {
  const trace = join(await bench.folder(), 'trace');
  // With -D, the manager itself is the child that is stopped.
  const strace = ['strace', '-D', '-f', '-ttt', '-e', 'signal=none', '-e', 'trace=execve,fsync,fdatasync'];
  const manager = await startManager(bench, { ...options, wrapper: [...strace, '-o', trace] });
  const spans: [from: number, to: number][] = [];
  for (let index = 0; index < WARM_UP; index++) await writeOnce(manager, index);
  for (let index = WARM_UP; index < WRITES; index++) {
    const from = Date.now() / 1000;
    await writeOnce(manager, index);
    spans.push([from, Date.now() / 1000]);
  }
  await manager.stop();
  const calls = [...(await readFile(trace, 'utf8')).matchAll(CALL)].filter(([, time]) =>
    spans.some(([from, to]) => Number(time) >= from && Number(time) <= to),
  );
  const processes = calls.filter(([, , name]) => name === 'execve').length;
  return { processes: processes / spans.length, syncs: (calls.length - processes) / spans.length };
}
