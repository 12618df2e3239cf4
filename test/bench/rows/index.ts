import type { Row } from '../bench.ts';
import { groups, info, notModified } from './info.ts';
import { writes, writesAtOnce } from './writes.ts';

/** Every row by the name that `npm run bench -- <name>` takes. */
export const ROWS: Readonly<Record<string, Row>> = {
  info,
  groups,
  'not-modified': notModified,
  writes,
  'writes-at-once': writesAtOnce,
};
