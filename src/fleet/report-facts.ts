import { hash } from 'node:crypto';
import { NAME_PATTERN } from '../protocol/name.ts';
import { lastTag, parsePollTag } from '../protocol/poll.ts';
import type { Report } from '../protocol/report.ts';
import type { FailedApp, Word } from '../store/devices/slot.ts';

/** What a report says of its device. */
export interface ReportFacts {
  group: string;
  /** The version of the worker. */
  worker: string;
  word: Word | null;
  failed: FailedApp[];
  /** Equal in reports that have the same apps in the same states, ids and problems. */
  digest: string;
}

/** Of many failing apps, these many are kept, with so many characters of each error. */
const MOST_FAILED = 20;
const ERROR_LENGTH = 300;
/** The longest version and tag that are read. */
const VERSION_LENGTH = 100;
const TAG_LENGTH = 200;

/** The states of an app in which it does not do what the manager wants, and will not without a change. */
const FAILING: ReadonlySet<unknown> = new Set(['failing', 'failed', 'rolled_back', 'kept']);
/** Problems of a whole device without which none of its apps can do what the manager wants. */
const DISABLING: ReadonlySet<unknown> = new Set(['engine-unavailable', 'group-gone', 'disk-pressure']);

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads what a report says of its device; null if it is not of a worker that says its version, or of no possible device. All
 * other members are as they were sent: each is read by itself, and one that is not understood is passed over.
 */
export function factsOf(report: Report): ReportFacts | null {
  const { hostname, device_group: group, worker, applied, apps: items, ids, problems: troubles } = report;
  const version = membersOf(worker)?.['version'];
  if (typeof version !== 'string' || version.length > VERSION_LENGTH) return null;
  if (!NAME_PATTERN.test(hostname) || !NAME_PATTERN.test(group)) return null;
  const apps = listOf(items)
    .map(membersOf)
    .filter((app) => app !== null);
  const problems = listOf(troubles).map(troubleOf);
  const failed = [
    ...problems.filter(({ code }) => DISABLING.has(code)).map(({ text }) => failedApp(null, text)),
    ...apps
      .filter(fails)
      .slice(0, MOST_FAILED)
      .map(({ name, state, error }) => failedApp(String(name), troubleOf(error ?? state).text)),
  ];
  const states = apps.map((app) => [
    app['name'],
    app['wanted_id'],
    app['running_id'],
    app['state'],
    troubleOf(app['error']).code,
  ]);
  const isTag = typeof applied === 'string' && applied.length <= TAG_LENGTH;
  return {
    group,
    worker: version,
    word: isTag ? parsePollTag(lastTag(applied)) : null,
    failed: failed.slice(0, MOST_FAILED),
    digest: hash('sha256', JSON.stringify([states, ids, problems.map(({ code }) => code)]), 'base64url'),
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function membersOf(value: unknown): Members | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : null;
}

/** Trouble is a text, or a code and a text. */
function troubleOf(value: unknown): { code: unknown; text: string } {
  const { code = value, text = code } = membersOf(value) ?? {};
  return { code, text: typeof text === 'string' ? text : 'failed' };
}

/** An error beside a container that runs is a warning, such as an image that could not be refreshed. */
function fails({ name, state, error }: Members): boolean {
  return typeof name === 'string' && (FAILING.has(state) || (error != null && state !== 'running'));
}

function failedApp(app: string | null, text: string): FailedApp {
  return { app: app === null ? null : shortened(app), error: shortened(text) };
}

/** A copy: a part of a string keeps all of it in memory. */
function shortened(text: string): string {
  return Buffer.from(text.slice(0, ERROR_LENGTH)).toString();
}
