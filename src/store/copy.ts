import { createHash } from 'node:crypto';
import { HoldfastError } from '../errors.ts';
import type { Contents, ContentsTarget } from './contents.ts';

/** How far a copy is: so many rows of a part are there, or checked. */
export type Progress = (part: Part, done: number, isCheck: boolean) => void;

const PARTS = ['objects', 'operations', 'reports'] as const;
type Part = (typeof PARTS)[number];

/** How many rows of each part were copied. */
export type Copied = Record<Part, number>;

const PAGE = 500;

/**
 * Copies everything, reads both sides again and compares them, and only then lets managers use the copy. Stopped in
 * the middle, it goes on when it is run again. Rejects as `conflict` where the source changed meanwhile or the copy
 * is not equal to it.
 */
export async function copyContents(from: Contents, to: ContentsTarget, progress: Progress): Promise<Copied> {
  const head = await from.head();
  await to.begin(head.fleet);
  await eachPage(from.objects.bind(from), keyOf, (rows) => to.putObjects(rows), told(progress, 'objects'));
  await eachPage(
    from.operations.bind(from),
    idOf,
    (rows) => to.putOperations(rows),
    told(progress, 'operations'),
  );
  await eachPage(from.reports.bind(from), oidOf, (rows) => to.putReports(rows), told(progress, 'reports'));
  const copied = await compare(from, to, progress);
  if (JSON.stringify(await from.head()) !== JSON.stringify(head)) {
    throw new HoldfastError(
      'conflict',
      'the store changed while it was copied; stop all managers and copy again',
    );
  }
  await to.finish(head);
  return copied;
}

function told(progress: Progress, part: Part): (done: number) => void {
  return (done) => progress(part, done, false);
}

async function compare(from: Contents, to: Contents, progress: Progress): Promise<Copied> {
  const copied: Copied = { objects: 0, operations: 0, reports: 0 };
  for (const part of PARTS) {
    const [ours, theirs] = [await digest(from, part), await digest(to, part)];
    if (ours.digest !== theirs.digest) {
      const message = `the copy of the ${part} is not equal to the source; stop all managers, empty the target and copy again`;
      throw new HoldfastError('conflict', message, { rows: ours.rows, copied: theirs.rows });
    }
    progress(part, ours.rows, true);
    copied[part] = ours.rows;
  }
  return copied;
}

async function digest(contents: Contents, part: Part): Promise<{ rows: number; digest: string }> {
  const hash = createHash('sha256');
  let rows = 0;
  const add = async (page: readonly unknown[]): Promise<void> => {
    for (const row of page) hash.update(`${JSON.stringify(row)}\n`);
    rows += page.length;
  };
  if (part === 'objects') await eachPage(contents.objects.bind(contents), keyOf, add);
  else if (part === 'operations') await eachPage(contents.operations.bind(contents), idOf, add);
  else await eachPage(contents.reports.bind(contents), oidOf, add);
  return { rows, digest: hash.digest('hex') };
}

async function eachPage<Row, Place>(
  read: (after: Place | null, limit: number) => Promise<Row[]>,
  placeOf: (row: Row) => Place,
  use: (rows: Row[]) => Promise<void>,
  progress: (done: number) => void = () => undefined,
): Promise<void> {
  let done = 0;
  let after: Place | null = null;
  for (;;) {
    const rows: Row[] = await read(after, PAGE);
    const last = rows.at(-1);
    if (last === undefined) return;
    await use(rows);
    done += rows.length;
    progress(done);
    after = placeOf(last);
  }
}

function keyOf({ key }: { key: string }): string {
  return key;
}

function idOf({ id }: { id: number }): number {
  return id;
}

function oidOf({ oid }: { oid: string }): string {
  return oid;
}
