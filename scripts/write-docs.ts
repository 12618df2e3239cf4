import { readFile, writeFile } from 'node:fs/promises';
import { renderedTables } from './tables.ts';

/** Writes the generated tables into their documents, each between its two marks. */
for (const { file, mark, table } of await renderedTables()) {
  const url = new URL(`../${file}`, import.meta.url);
  const text = await readFile(url, 'utf8');
  const [begin, end] = [`<!-- ${mark}: written by npm run docs -->\n`, `<!-- end of ${mark} -->`];
  const [before, rest] = text.split(begin);
  const after = rest?.slice(rest.indexOf(end));
  if (after === undefined) throw new Error(`${file} has no mark "${mark}"`);
  await writeFile(url, `${before}${begin}${table}${after}`);
}
