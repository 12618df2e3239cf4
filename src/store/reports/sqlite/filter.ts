import type { SqlValue } from '../../../sqlite/connection.ts';
import type { ReportQuery, TimeComparison } from '../report.ts';

/** The filters of a query in SQL: the index to use, and the conditions with their values. */
export interface ReportFilter {
  index: string;
  conditions: string[];
  values: SqlValue[];
}

const OPERATORS: Readonly<Record<TimeComparison, string>> = {
  eq: '=',
  gt: '>',
  lt: '<',
  gte: '>=',
  lte: '<=',
  ne: '<>',
};

/**
 * Translates the filters of a query to SQL. The index is chosen here (`indexFor`), not by SQLite's planner: each gives
 * rows in the order of `seq`, and the first one that applies has the fewest rows to scan.
 */
export function reportFilter(query: ReportQuery): ReportFilter {
  const { hostname, deviceGroup, creationTime, updated } = query;
  const terms: [condition: string, value: SqlValue][] = [];
  if (hostname !== undefined) terms.push(['hostname = ?', indexText(hostname)]);
  if (deviceGroup !== undefined) terms.push(['device_group = ?', indexText(deviceGroup)]);
  if (creationTime !== undefined) terms.push([timeCondition(creationTime.comparison), creationTime.seconds]);
  if (updated !== undefined) terms.push(['updated = ?', Number(updated)]);
  return {
    index: indexFor(query),
    conditions: terms.map(([condition]) => condition),
    values: terms.map(([, value]) => value),
  };
}

/** Escapes a text for the columns of filters: the driver cuts a text at a NUL, so different texts would be equal. */
export function indexText(text: string): string {
  return text.replace(/[\\\0]/g, (character) => (character === '\0' ? '\\0' : '\\\\'));
}

/** Returns a condition such as `created > ?`. */
export function timeCondition(comparison: TimeComparison): string {
  return `created ${OPERATORS[comparison]} ?`;
}

function indexFor({ hostname, deviceGroup, creationTime, updated }: ReportQuery): string {
  if (hostname !== undefined) return 'INDEXED BY reports_by_hostname';
  if (deviceGroup !== undefined) return 'INDEXED BY reports_by_group';
  if (creationTime?.comparison === 'eq') return 'INDEXED BY reports_by_time';
  if (updated !== undefined) return 'INDEXED BY reports_by_updated';
  return creationTime === undefined ? 'NOT INDEXED' : 'INDEXED BY reports_in_order';
}
