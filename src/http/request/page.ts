import * as z from 'zod';
import { parameter, Text, WholeNumber } from './query.ts';

/** Makes the schema of the parameter that limits the rows of a page; `fallback` is its default. */
export function pageSize(fallback: number) {
  const size = z.int().min(1, 'must be 1 or more').max(1000, 'must be 1000 or less');
  return parameter(WholeNumber, size).prefault(fallback).describe('Entries per page.');
}

/** The parameters of every list that pages by `after` and `next`: its rows are in the order of a number that falls. */
export const pageParameters = {
  page_size: pageSize(50),
  after: Text.regex(/^-?\d{1,15}$/, 'must be a cursor, as `next` of the page before has it').optional(),
};

/** The number below which the rows of a page are; null for the first page. */
export function startOf({ after }: { after?: string | undefined }): number | null {
  return after === undefined ? null : Number(after);
}

/** Returns `next` after a page that ends with the row of this number. */
export function nextOf(isMore: boolean, last: number | undefined): string | null {
  return isMore && last !== undefined ? String(last) : null;
}
