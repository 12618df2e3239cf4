import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { RollbackPreview, RollbackRequest } from '../../change/rollback.ts';
import { check } from '../../desired/explain.ts';
import { HoldfastError } from '../../errors.ts';
import { parseKey } from '../../protocol/name.ts';
import {
  RollbackBlocked,
  RollbackBody,
  RollbackPreviewRecord,
  RollbackResult,
} from '../../protocol/rollback.ts';
import { isMapValue } from '../../protocol/values.ts';
import type { StoredObject } from '../../store/objects/port.ts';
import type { Api } from '../api.ts';
import { json, writeErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { badFields, readJson } from '../request/fields.ts';
import { isDryRun, reasonAndBase, WriteOptions } from '../request/write-options.ts';
import { RequestRefused } from '../request-refused.ts';
import { sendAtRevision } from '../revision.ts';

const Absent = z
  .object({
    app_exists: z.literal(false).optional(),
    device_group_exists: z.literal(false).optional(),
    access_allowed: z.literal(false).optional(),
  })
  .meta({ id: 'RollbackRefused' });

const rollbackRoute = route('POST', '/api/v2/rollback', {
  operationId: 'rollback',
  action: 'edit',
  carriesRevision: true,
  needsRevision: false,
  summary: 'Bring objects back as they were at a revision, or take back a commit',
  tag: 'manager',
  query: WriteOptions,
  body: RollbackBody,
  reply: [202, json('The commit, and the ids of the objects.', RollbackResult)],
  errors: {
    ...writeErrors('app'),
    200: json('With dry_run=true: what would change.', RollbackPreviewRecord),
    403: json('An object exists neither then nor now, or the request is not permitted.', Absent),
    409: json('Something else is in the way, or the state of the repository.', RollbackBlocked),
  },
});

/** Going back (docs/history.md): a commit like any other, so it sticks. */
export function rollbackRoutes(app: FastifyInstance, api: Api): void {
  rollbackRoute(app, async (request, reply) => {
    const body = readBody(request);
    const { base, reason: asked } = reasonAndBase(request);
    const reason = body.reason ?? asked;
    if (reason === undefined)
      throw new RequestRefused(400, 'a reason is missing', { missing_parameters: ['reason'] });
    const { user, id } = request;
    const context = {
      user: user.name,
      email: user.email,
      requestId: id,
      ifMatch: null,
      reason,
      ...(base === undefined ? {} : { base }),
    };
    const wanted = requestOf(body);
    if (isDryRun(request))
      return reply.code(200).send(previewRecord(await api.rollbacks.preview(wanted, context)));
    const { revision, objects } = await api.rollbacks.commit(wanted, context);
    const ids = [...objects].flatMap(([key, { value }]) => (value === null ? [] : [[key, idOf(value)]]));
    const applied = revision ?? api.reconciler.status().applied?.revision ?? null;
    return sendAtRevision(reply, 202, applied, { revision, ids: Object.fromEntries(ids) });
  });
}

function readBody(request: FastifyRequest): RollbackBody {
  const value = readJson(request);
  if (!isMapValue(value)) throw new HoldfastError('invalid', 'the body must be a JSON object');
  const parsed = check(RollbackBody, value);
  if (!parsed.success) throw badFields(parsed.error.issues, Object.keys(RollbackBody.shape));
  const { to, undo, objects, group, all } = parsed.data;
  const selections = [objects, group, all].filter((given) => given !== undefined).length;
  if (to === undefined && undo === undefined)
    throw new RequestRefused(400, 'fields are missing', { missing_parameters: ['to'] });
  const why = 'takes either "to" with one of "objects", "group" and "all", or "undo" alone';
  const isRight = to === undefined ? selections === 0 : undo === undefined && selections === 1;
  if (!isRight) throw badFields([], [], [[to === undefined ? 'undo' : 'to', why]]);
  if (parsed.data.with_apps !== undefined && group === undefined)
    throw badFields([], [], [['with_apps', 'is an option of "group"']]);
  return parsed.data;
}

function requestOf(body: RollbackBody): RollbackRequest {
  const options = {
    withDependencies: body.with_dependencies === true,
    allowDelete: body.allow_delete === true,
  };
  if (body.undo !== undefined) return { ...options, undo: body.undo };
  const { to = '', objects, group, with_apps = false } = body;
  if (objects !== undefined) return { ...options, to, selection: { objects: objects.map(parseKey) } };
  if (group !== undefined) return { ...options, to, selection: { group, withApps: with_apps } };
  return { ...options, to, selection: { all: true } };
}

function previewRecord({ alsoLost, ...preview }: RollbackPreview): object {
  return { ...preview, also_lost: alsoLost.changes, also_lost_complete: alsoLost.isComplete };
}

function idOf(object: StoredObject): number {
  if (object.kind === 'device') return object.deviceId;
  return object.kind === 'app' ? object.appId : object.deviceGroupId;
}
