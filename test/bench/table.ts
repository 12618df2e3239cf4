import type { Line } from './bench.ts';

const HEADINGS = ['row', 'measured', 'baseline', 'ratio', 'target', 'met'];

/** The lines as a Markdown table with aligned columns. */
export function renderTable(lines: readonly Line[]): string {
  const cells = [HEADINGS, ...lines.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const render = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  const [head = [], ...rest] = cells;
  return `${[render(head), rule, ...rest.map(render)].join('\n')}\n`;
}

function cellsOf({ row, measured, baseline, ratio, target, met }: Line): string[] {
  return [row, measured, baseline, ratio, target, met === null ? '' : met ? 'yes' : 'no'];
}
