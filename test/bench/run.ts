/**
 * Measures the manager and a baseline for each figure, and prints one table: `npm run bench`, or some of its rows:
 * `npm run bench -- info writes`. `--long` takes the time that the full measurement needs.
 */
import { Bench, type Line } from './bench.ts';
import { ROWS } from './rows/index.ts';
import { renderTable } from './table.ts';

const args = process.argv.slice(2);
const isLong = args.includes('--long');
const names = args.filter((arg) => !arg.startsWith('--'));
const unknown = names.filter((name) => !(name in ROWS));
if (unknown.length > 0) {
  process.stderr.write(`no such row: ${unknown.join(', ')}; there are ${Object.keys(ROWS).join(', ')}\n`);
  process.exit(2);
}

const lines: Line[] = [];
for (const [name, row] of Object.entries(ROWS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const start = performance.now();
  process.stderr.write(`${name} ...\n`);
  const bench = new Bench(isLong);
  try {
    lines.push(...(await row(bench)));
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    lines.push({ row: name, measured: 'failed', baseline: '', ratio: '', target: '', met: false });
  } finally {
    await bench.end();
  }
  process.stderr.write(`${name}: ${Math.round((performance.now() - start) / 1000)} s\n`);
}
process.stdout.write(`\n${renderTable(lines)}`);
