import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { OPERATIONS, type OperationEntry } from '../../store/operation.ts';
import type { Api } from '../api.ts';
import { documented } from '../openapi/documented.ts';
import { commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { pageSize, parameter, readQuery, WholeNumber } from '../request/query.ts';

const Query = z.object({
  page_size: pageSize(100),
  before: parameter(WholeNumber, z.int().min(1, 'must be 1 or more'))
    .optional()
    .describe(
      'Only entries with an id below this one. For the next page, pass the id of the last entry; an empty page is the end.',
    ),
});

const Operation = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    actor: z.string(),
    action: z.enum(OPERATIONS),
    name: z.string().nullable().describe('The app or device group; null for a prune of all device groups.'),
    request_id: z.string(),
    reason: z.string().nullable(),
    ids: z.record(z.string(), z.int()).describe('The new ids, by app or device group.'),
  })
  .meta({ id: 'Operation' });
const Page = z.object({ operations: z.array(Operation) }).meta({ id: 'OperationPage' });

const docs = documented({
  operationId: 'listOperations',
  action: 'read',
  summary: 'List restarts and prunes, with who and when; newest first',
  tag: 'manager',
  querystring: Query,
  reply: [200, json('A page of entries of the operations log.', Page)],
  errors: { ...commonErrors, ...parameterErrors },
});

/** The operations log: restarts and prunes, which raise ids without a commit and so do not appear in git's history. */
export function operationRoutes(app: FastifyInstance, { store }: Api): void {
  app.get('/api/v2/operations', docs, async (request) => {
    const { before, page_size: size } = readQuery(request, Query);
    const entries = await store.operations(before ?? null, size);
    return { operations: entries.map(operationRecord) };
  });
}

function operationRecord({ requestId, at, ...entry }: OperationEntry): z.infer<typeof Operation> {
  return { ...entry, at: new Date(at).toISOString(), request_id: requestId };
}
