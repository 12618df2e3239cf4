import { createHash } from 'node:crypto';
import { HoldfastError, kindOf } from '../errors.ts';
import { type Contents, type ContentsTarget, PARTS, type Part } from './contents.ts';

/** The progress of a copy: how many rows of a part the target has, or how many were compared. */
export interface CopyProgress {
  part: Part;
  rows: number;
  /** How many of these rows an earlier run had copied. */
  alreadyCopied: number;
  isCheck: boolean;
}

export type OnCopyProgress = (progress: CopyProgress) => void;

/** How many rows of each part were copied, and how many of these an earlier run had copied. */
export type Copied = Record<Part, { rows: number; alreadyCopied: number }>;

/** Rows that are read and written at a time. */
const PAGE = 500;

/**
 * Copies a store, then reads source and target again and compares them, and only then lets managers use the copy. If it
 * is interrupted, the next call on the same source continues after the last row of each part. If the target differs
 * from the source in the end, it is emptied and filled once more. Rejects as `conflict` if it differs even then, or if
 * the source changed during the copy.
 */
export async function copyContents(
  from: Contents,
  to: ContentsTarget,
  onProgress: OnCopyProgress,
): Promise<Copied> {
  const state = await from.state();
  await to.begin(state);
  const copied = await fillAndCompare(from, to, onProgress).catch(async (error: unknown) => {
    if (kindOf(error) !== 'conflict') throw error;
    await to.clear();
    return fillAndCompare(from, to, onProgress);
  });
  if (JSON.stringify(await from.state()) !== JSON.stringify(state)) {
    throw new HoldfastError(
      'conflict',
      'the store changed while it was copied; stop all managers and copy again',
    );
  }
  await to.finish(state);
  return copied;
}

async function fillAndCompare(
  from: Contents,
  to: ContentsTarget,
  onProgress: OnCopyProgress,
): Promise<Copied> {
  const { objects, operations, reports } = await to.reached();
  const alreadyCopied = { objects: objects.rows, operations: operations.rows, reports: reports.rows };
  const report = (part: Part, added = 0): void =>
    onProgress({
      part,
      rows: alreadyCopied[part] + added,
      alreadyCopied: alreadyCopied[part],
      isCheck: false,
    });
  for (const part of PARTS) if (alreadyCopied[part] > 0) report(part);
  await eachPage(pages(from).objects, objects.last, async (rows, done) => {
    await to.putObjects(rows);
    report('objects', done);
  });
  await eachPage(pages(from).operations, operations.last, async (rows, done) => {
    await to.putOperations(rows);
    report('operations', done);
  });
  await eachPage(pages(from).reports, reports.last, async (rows, done) => {
    await to.putReports(rows);
    report('reports', done);
  });
  return compare(from, to, alreadyCopied, onProgress);
}

async function compare(
  from: Contents,
  to: Contents,
  alreadyCopied: Record<Part, number>,
  onProgress: OnCopyProgress,
): Promise<Copied> {
  const copied: Partial<Copied> = {};
  for (const part of PARTS) {
    const [source, copy] = [await digest(from, part), await digest(to, part)];
    if (source.digest !== copy.digest) {
      const message = `the copy of the ${part} differs from the source; stop all managers, empty the target and copy again`;
      throw new HoldfastError('conflict', message, { rows: source.rows, copied: copy.rows });
    }
    copied[part] = { rows: source.rows, alreadyCopied: alreadyCopied[part] };
    onProgress({ part, rows: source.rows, alreadyCopied: alreadyCopied[part], isCheck: true });
  }
  return copied as Copied;
}

async function digest(contents: Contents, part: Part): Promise<{ rows: number; digest: string }> {
  const hash = createHash('sha256');
  let rows = 0;
  const add = async (page: readonly unknown[]): Promise<void> => {
    for (const row of page) hash.update(`${JSON.stringify(row)}\n`);
    rows += page.length;
  };
  const { objects, operations, reports } = pages(contents);
  if (part === 'objects') await eachPage(objects, null, add);
  else if (part === 'operations') await eachPage(operations, null, add);
  else await eachPage(reports, null, add);
  return { rows, digest: hash.digest('hex') };
}

/** Reads the pages of a part. The next page begins after the place of the last row. */
interface Pages<Row, Place> {
  read(after: Place | null, limit: number): Promise<Row[]>;
  placeOf(row: Row): Place;
}

function pages(contents: Contents) {
  return {
    objects: pagesOf(contents.objects.bind(contents), ({ key }) => key),
    operations: pagesOf(contents.operations.bind(contents), ({ id }) => id),
    reports: pagesOf(contents.reports.bind(contents), ({ oid }) => oid),
  };
}

function pagesOf<Row, Place>(
  read: Pages<Row, Place>['read'],
  placeOf: Pages<Row, Place>['placeOf'],
): Pages<Row, Place> {
  return { read, placeOf };
}

/** Calls `use` with each page of rows after `from`, and the number of rows read so far. */
async function eachPage<Row, Place>(
  { read, placeOf }: Pages<Row, Place>,
  from: Place | null,
  use: (rows: Row[], done: number) => Promise<void>,
): Promise<void> {
  let done = 0;
  let after = from;
  for (;;) {
    const rows = await read(after, PAGE);
    const last = rows.at(-1);
    if (last === undefined) return;
    done += rows.length;
    await use(rows, done);
    after = placeOf(last);
  }
}
