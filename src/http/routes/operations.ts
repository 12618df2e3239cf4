import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { OPERATIONS, type Operation, OperationPage } from '../../protocol/history.ts';
import { parseKey } from '../../protocol/name.ts';
import type { ListedEntry } from '../../store/entry.ts';
import type { Api } from '../api.ts';
import { commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { nextOf, pageParameters, startOf } from '../request/page.ts';

const Query = z.strictObject(pageParameters);

const operationsRoute = route('GET', '/api/v2/operations', {
  operationId: 'listOperations',
  action: 'read',
  summary: 'List restarts and prunes, with who and when; newest first',
  tag: 'manager',
  query: Query,
  reply: [200, json('A page of operations, each with all of its ids.', OperationPage)],
  errors: { ...commonErrors, ...parameterErrors },
});

/** Restarts and prunes, which raise ids without a commit and so do not appear in git's history. */
export function operationRoutes(app: FastifyInstance, { past }: Api): void {
  operationsRoute(app, async (request) => {
    const parameters = request.query;
    const { entries, isMore } = await past.operations(startOf(parameters), parameters.page_size);
    return { operations: entries.map(operationRecord), next: nextOf(isMore, entries.at(-1)?.n) };
  });
}

function operationRecord(entry: ListedEntry): z.infer<typeof Operation> {
  const { n: id, at, kind, actor, requestId, reason, changes } = entry;
  const given = changes.map(({ object, ids }) => [parseKey(object).name, Object.values(ids ?? {})] as const);
  return {
    id,
    at: new Date(at).toISOString(),
    actor: actor.name,
    action: z.enum(OPERATIONS).parse(kind),
    name: kind === 'prune-all' ? null : (given[0]?.[0] ?? null),
    request_id: requestId,
    reason,
    ids: Object.fromEntries(given.flatMap(([name, [id]]) => (id === undefined ? [] : [[name, id]]))),
  };
}
