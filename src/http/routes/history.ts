import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { revisionAbsent } from '../../change/refusals.ts';
import { HoldfastError } from '../../errors.ts';
import { ENTRY_KINDS, EntryDetail, type EntryKind, HistoryPage } from '../../protocol/history.ts';
import { NAME_PATTERN } from '../../protocol/name.ts';
import type { Detail } from '../../reconcile/history/past.ts';
import { type EntryQuery, type HistoryState, keys } from '../../store/entry.ts';
import type { Api } from '../api.ts';
import { countingDevices, type DevicesIn } from '../effects.ts';
import { entryRecord } from '../history-records.ts';
import { absentErrors, commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { nextOf, pageParameters, startOf } from '../request/page.ts';
import { Text } from '../request/query.ts';

const OBJECT = new RegExp(`^(app|device_group|device)/${NAME_PATTERN.source.slice(1)}`);
const Objects = Text.regex(OBJECT, 'must be app/NAME, device_group/NAME or device/NAME');
const Time = Text.refine((text) => !Number.isNaN(timeOf(text)), 'must be a date or a time in ISO 8601');
const isKinds = (text: string): boolean =>
  text.split(',').every((kind) => ENTRY_KINDS.includes(kind as EntryKind));

const Query = z.strictObject({
  object: z
    .union([Objects, z.array(Objects).max(100, 'must be 100 or fewer')])
    .meta({ id: 'HistoryObjects' })
    .optional()
    .describe('Such as `app/web`; may be repeated: entries of one of these objects.'),
  group: Text.regex(NAME_PATTERN, 'must be the name of a device group')
    .optional()
    .describe('Entries of this device group, and of the apps that it lists now.'),
  kind: Text.refine(isKinds, `must be some of ${ENTRY_KINDS.join(', ')}, with commas between them`)
    .optional()
    .describe('Entries of one of these kinds, with commas between them.'),
  actor: Text.optional().describe('The name or address of an author, or the user of the API.'),
  field: Text.optional().describe(
    'Entries that changed this field (of the given objects, if there are some).',
  ),
  revision: Text.optional().describe('Entries of this commit.'),
  request_id: Text.optional(),
  since: Time.optional().describe('The earliest `at`.'),
  until: Time.optional().describe('The latest `at`.'),
  q: Text.regex(/^\P{Cc}*$/u, 'must not have control characters')
    .optional()
    .describe('A text in the subject, or in the name of an object.'),
  ...pageParameters,
});

const listRoute = route('GET', '/api/v2/history', {
  operationId: 'listHistory',
  action: 'read',
  summary: 'List what happened: commits, operations, refusals, rewrites; newest first',
  tag: 'history',
  query: Query,
  reply: [200, json('A page of entries, with their first changes and effects.', HistoryPage)],
  errors: { ...commonErrors, ...parameterErrors, ...absentErrors },
});

const detailRoute = route('GET', '/api/v2/history/:entry', {
  operationId: 'getHistoryEntry',
  action: 'read',
  summary: 'Read an entry by its number or revision, with the values before and after',
  tag: 'history',
  params: z.object({
    entry: z.string().describe('A number, the full id of a commit or its first digits, a branch or a tag.'),
  }),
  reply: [200, json('The entry.', EntryDetail)],
  errors: { ...commonErrors, ...absentErrors },
});

/** The history: what changed, by whom, when, and which ids it gave. */
export function historyRoutes(app: FastifyInstance, api: Api): void {
  const { past } = api;
  listRoute(app, async (request) => {
    const parameters = request.query;
    const { page_size: size } = parameters;
    const query = await entryQuery(parameters, api);
    const { entries, total, state, isCurrent } = await past.list(query, startOf(parameters), size + 1);
    const page = entries.slice(0, size);
    const devicesIn = await countingDevices(api.fleet);
    const isComplete = isCurrent && isWhole(state, api);
    const until = isComplete ? null : (state?.until ?? null);
    return {
      entries: page.map((entry) => entryRecord(entry, devicesIn)),
      next: nextOf(entries.length > size, page.at(-1)?.n),
      total,
      complete: isComplete,
      indexed_until: until === null ? null : new Date(until).toISOString(),
    };
  });
  detailRoute(app, async (request) =>
    detailRecord(
      await findEntry((request.params as { entry: string }).entry, api),
      await countingDevices(api.fleet),
    ),
  );
}

/** Whether the history goes back to its beginning. Before the first revision it has nothing, which is everything of an empty branch. */
function isWhole(state: HistoryState | null, { reconciler }: Api): boolean {
  if (state === null || state.fill !== null || state.isCut) return false;
  const head = reconciler.passes.head();
  return state.revision !== null || (head !== null && head.revision === null);
}

async function entryQuery(parameters: z.infer<typeof Query>, api: Api): Promise<EntryQuery> {
  const { kind, actor, request_id: request, since, until, q } = parameters;
  const lists = [
    ...(await objectLists(parameters, api)),
    ...(actor === undefined ? [] : [[keys.actor(actor)]]),
    ...(request === undefined ? [] : [[keys.request(request)]]),
    ...(await revisionLists(parameters, api)),
  ];
  return {
    keys: lists,
    kinds: kind === undefined ? null : (kind.split(',') as EntryKind[]),
    since: since === undefined ? null : timeOf(since),
    until: until === undefined ? null : timeOf(until),
    text: q ?? null,
  };
}

/** The keys of the objects, the group and the field that are asked for. */
async function objectLists(
  { object, group, field }: z.infer<typeof Query>,
  { store }: Api,
): Promise<string[][]> {
  const keyOf = (each: string): string =>
    field === undefined ? keys.object(each) : keys.objectField(each, field);
  const lists = object === undefined ? [] : [[object].flat().map(keyOf)];
  if (group !== undefined) {
    const apps = (await store.object('device_group', group)).value?.content.apps ?? [];
    lists.push([`device_group/${group}`, ...apps.map((name) => `app/${name}`)].map(keyOf));
  }
  return lists.length === 0 && field !== undefined ? [[keys.field(field)]] : lists;
}

async function revisionLists({ revision }: z.infer<typeof Query>, { past }: Api): Promise<string[][]> {
  if (revision === undefined) return [];
  const full = await past.revision(revision);
  if (full === null) throw revisionAbsent();
  return [[keys.revision(full)]];
}

/** Digits alone are a number first, then the beginning of an id. */
async function findEntry(name: string, { past }: Api): Promise<Detail> {
  const isNumber = /^-?\d{1,15}$/.test(name);
  const found = isNumber ? await past.byNumber(Number(name)) : null;
  if (found !== null) return found;
  const revision = await past.revision(name);
  if (revision === null) throw isNumber ? entryAbsent() : revisionAbsent();
  const ofRevision = await past.byRevision(revision);
  if (ofRevision === null) throw entryAbsent();
  return ofRevision;
}

function entryAbsent(): HoldfastError {
  return new HoldfastError('absent', 'there is no such entry', { missing: 'entry' });
}

function detailRecord(
  { entry, message, isGone, steps, files, stepsTotal, filesTotal }: Detail,
  devicesIn: DevicesIn,
): z.infer<typeof EntryDetail> {
  return {
    ...entryRecord(entry, devicesIn),
    message,
    gone: isGone,
    steps,
    steps_total: stepsTotal,
    files,
    files_total: filesTotal,
  };
}

/** Unix milliseconds of a date or time in ISO 8601; NaN for anything else. A time without an offset is in UTC. */
function timeOf(text: string): number {
  const match = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text);
  if (match === null) return Number.NaN;
  const [, date = '', time = '00:00', offset = 'Z'] = match;
  // Without this, the 30th of February would be the 2nd of March.
  const isDay = z.iso.date().safeParse(date).success;
  return isDay ? Date.parse(`${date}T${time}${offset}`) : Number.NaN;
}
