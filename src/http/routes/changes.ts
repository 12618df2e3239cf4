import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { AppRecord, DeviceGroupRecord } from '../../protocol/info.ts';
import { Preview } from '../../protocol/plan.ts';
import type { Api } from '../api.ts';
import { sendPreview } from '../dry-run.ts';
import { changesErrors, json } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { objectRecord } from '../records.ts';
import { ChangesBody, readChanges } from '../request/changes.ts';
import { writeContext } from '../request/context.ts';
import { isDryRun, WriteOptions } from '../request/write-options.ts';
import { sendAtRevision } from '../revision.ts';

const ObjectRecord = z.union([AppRecord, DeviceGroupRecord]).meta({ id: 'ObjectRecord' });

const Changed = z
  .object({
    revision: z.string().nullable().describe('The commit; null if nothing had to change.'),
    objects: z
      .record(z.string(), ObjectRecord.nullable())
      .describe(
        'Each object after the change, by `app/NAME` or `device_group/NAME`; null if it was deleted.',
      ),
  })
  .meta({ id: 'Changed' });

const changesRoute = route('POST', '/api/v2/changes', {
  operationId: 'makeChanges',
  action: 'edit',
  carriesRevision: true,
  summary: 'Change several objects in one commit, or none',
  tag: 'changes',
  query: WriteOptions,
  body: ChangesBody,
  reply: [202, json('The commit, and the objects after it.', Changed)],
  errors: { 200: json('The preview, with dry_run=true.', Preview), ...changesErrors },
});

/** Changes of several objects in one commit (docs/contract.md, 4.6). */
export function changesRoutes(app: FastifyInstance, api: Api): void {
  changesRoute(app, async (request, reply) => {
    const { set, reason } = await readChanges(request, api);
    const context = { ...writeContext(request, 'change'), ...(reason === undefined ? {} : { reason }) };
    if (isDryRun(request)) return sendPreview(reply, await api.writer.preview(set, context), api);
    const { revision, objects } = await api.writer.commit(set, context);
    const records = Array.from(objects, ([key, { value }]) => [key, value && objectRecord(value)] as const);
    const applied = revision ?? [...objects.values()].at(-1)?.revision ?? null;
    return sendAtRevision(reply, 202, applied, { revision, objects: Object.fromEntries(records) });
  });
}
