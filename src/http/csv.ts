import { Pace } from '../async/pace.ts';

/** How many rows are written before other work can run. */
const STEP = 100;

/**
 * Resolves to rows as CSV (RFC 4180), the names of the columns first. A cell that a spreadsheet would calculate gets an apostrophe
 * before it: devices write some of them.
 */
export async function csvOf<Row>(
  columns: Readonly<Record<string, (row: Row) => string>>,
  rows: readonly Row[],
): Promise<string> {
  const cells = Object.values(columns);
  const pace = new Pace();
  let text = `${Object.keys(columns).join(',')}\r\n`;
  for (const [index, row] of rows.entries()) {
    text += `${cells.map((cell) => quoted(cell(row))).join(',')}\r\n`;
    if (index % STEP === 0) await pace.step();
  }
  return text;
}

function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
