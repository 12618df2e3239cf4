/**
 * Returns rows as CSV (RFC 4180), the names of the columns first. A cell that a spreadsheet would calculate gets an apostrophe
 * before it: devices write some of them.
 */
export function csvOf<Row>(
  columns: Readonly<Record<string, (row: Row) => string>>,
  rows: readonly Row[],
): string {
  const cells = Object.values(columns);
  const lines = rows.map((row) => cells.map((cell) => quoted(cell(row))).join(','));
  return [Object.keys(columns).join(','), ...lines, ''].join('\r\n');
}

function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
