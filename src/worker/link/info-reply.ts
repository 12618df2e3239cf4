import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import { AppRecord, InfoRecord, readAppRecord } from '../../protocol/info.ts';
import { Name } from '../../protocol/name.ts';
import { isDeeperThan } from '../../protocol/values.ts';
import { printable } from '../../text/printable.ts';
import type { CheckedInfo } from '../plan/wanted/wanted.ts';

/** A reply with what a device group wants; its apps are in the order of `apps_list`, each with its record as sent. */
export interface InfoReply extends CheckedInfo {
  /** The ETag, with its quotes; made from the body if the manager sends none. */
  etag: string;
  /** First four hex digits of the fleet id; null if the ETag does not say. */
  fleet: string | null;
  /** The revision that the manager has applied; null if it does not say. */
  revision: string | null;
  /** The parsed JSON. */
  body: unknown;
  /** Names of fields that this worker does not know: `x` of the reply, `apps.x` of an app. */
  unknownFields: readonly string[];
}

/** Unknown fields that are named, and characters of a name: a manager of the future has few, with short names. */
const MOST_NAMED = 20;
const LONGEST_NAME = 64;

/** Levels of lists and maps: far more than a manager accepts in a file, few enough for whatever walks through them. */
const MAX_DEPTH = 64;

/** As much of an app as says which one it is. Its other fields are the planner's. */
const AppShape = z.looseObject({ app_name: Name, app_id: AppRecord.shape.app_id });

/** A reply in which each app is checked only as far as the reply depends on it. */
const InfoShape = z.looseObject({
  prune_id: InfoRecord.shape.prune_id,
  device_group_id: InfoRecord.shape.device_group_id,
  apps_list: z.array(Name),
  apps: z.array(AppShape),
});
type InfoShape = z.infer<typeof InfoShape>;

/** The parts of a reply that are in its body. */
export type InfoBody = Pick<InfoReply, 'body' | 'groupId' | 'pruneId' | 'apps' | 'unknownFields'>;

/** Returns a reply with status 200 whose shape is right, or what is wrong with it. */
export function checkedReply(text: string, headers: IncomingHttpHeaders): InfoReply | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'the reply is not JSON: is MANAGER the address of a manager?' };
  }
  const body = checkedBody(value);
  if ('problem' in body) return body;
  const etag = etagOf(headers['etag'], text);
  const fleet = FLEET.exec(etag)?.[1] ?? null;
  return { etag, fleet, revision: headers['holdfast-revision']?.toString() ?? null, ...body };
}

/** Returns the parts of a parsed body whose shape is right, or what is wrong with it. Also for one that was kept. */
export function checkedBody(value: unknown): InfoBody | { problem: string } {
  if (isDeeperThan(MAX_DEPTH, value))
    return { problem: `the reply is nested more than ${MAX_DEPTH} levels deep` };
  const parsed = InfoShape.safeParse(value, { error: rawMessage });
  if (!parsed.success) return { problem: problemOf(parsed.error) };
  const info = parsed.data;
  const problem = listProblem(info);
  if (problem !== null) return { problem };
  return {
    body: value,
    groupId: info.device_group_id,
    pruneId: info.prune_id,
    apps: info.apps.map((app) => ({ name: app.app_name, id: app.app_id, record: app })),
    unknownFields: unknownFields(info),
  };
}

/** Begins an ETag of a manager that says which fleet it is (docs/decisions/0021-order-in-the-etag.md). */
const FLEET = /^(?:W\/)?"([0-9a-f]{4})\.\d+-/;
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;

function etagOf(header: string | undefined, body: string): string {
  // A proxy that compresses replies makes their tags weak.
  if (header !== undefined && ETAG.test(header)) return header.replace('W/', '');
  return `"${hash('sha256', body, 'base64url').slice(0, 27)}"`;
}

/** Says what zod would say in its own words. */
function rawMessage({ code, input, expected }: z.core.$ZodRawIssue): string | undefined {
  if (input === undefined) return 'is missing';
  if (code === 'too_small') return 'is too small';
  return code === 'invalid_type' ? `must be ${NOUNS[String(expected)] ?? String(expected)}` : undefined;
}

const NOUNS: Readonly<Record<string, string>> = {
  number: 'a number',
  string: 'a text',
  array: 'a list',
  object: 'an object',
};

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue?.path.map(String).join('.') ?? '';
  return `the reply is not that of a manager: ${place === '' ? 'it' : place} ${issue?.message}`;
}

function listProblem({ apps_list: names, apps }: InfoShape): string | null {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) return `the reply names the app "${name}" twice`;
    seen.add(name);
  }
  const isSame = names.length === apps.length && apps.every((app, index) => app.app_name === names[index]);
  return isSame ? null : 'the apps of the reply are not those of its apps_list';
}

function unknownFields(info: InfoShape): string[] {
  const names = new Set(Object.keys(info).filter((name) => !Object.hasOwn(InfoRecord.shape, name)));
  for (const app of info.apps) for (const name of readAppRecord(app).unknown) names.add(`apps.${name}`);
  return [...names].slice(0, MOST_NAMED).map((name) => printable(name.slice(0, LONGEST_NAME)));
}
