import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Write } from '../../change/write.ts';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import type { Kind } from '../../protocol/name.ts';
import type { Api } from '../api.ts';
import { requireFound, sendObject, sendWritten } from '../one-object.ts';
import { bodyDocs, documented, documentedWrites, type Tag } from '../openapi/documented.ts';
import { commonErrors, Empty, json, notModified, readErrors } from '../openapi/replies.ts';
import { bodyRules } from '../request/body-rules.ts';
import { type BodyRule, readFields } from '../request/fields.ts';
import { nameIn } from '../request/name.ts';
import { sendAtRevision } from '../revision.ts';
import { nameParameter } from '../route-record.ts';

/** How the routes of one kind of object differ from those of the other. */
export interface ObjectRoutes {
  kind: Kind;
  tag: Tag;
  /** The part of the names of operations and schemas that names the kind: `App` in `createApp` and `AppFields`. */
  title: string;
  summaries: Readonly<Record<'list' | 'read' | 'create' | 'delete' | 'replace' | 'change', string>>;
  /** The object in a reply. */
  record: z.ZodType;
  /** Runs before the fields of a body are read. Rejects with the 403 of objects in the body that do not exist. */
  check?(request: FastifyRequest, api: Api): Promise<void>;
}

/**
 * Makes the routes that list, read, create, delete and update objects of one kind (docs/contract.md, 4.1). Call it only once
 * for each kind: schemas are registered by name for the whole process.
 */
export function objectRoutes(object: ObjectRoutes): (app: FastifyInstance, api: Api) => void {
  const { kind } = object;
  const { collection, partialOp } = DESCRIPTORS[kind];
  const { whole, partial } = bodyRules(kind);
  const listPath = `/api/v2/${collection}`;
  const objectPath = `${listPath}/:${nameParameter(kind)}`;
  const docs = describeRoutes(object);
  return (app, api) => {
    const write =
      (status: number, op: Write['op'], rule: BodyRule) =>
      async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
        const name = nameIn(request, kind);
        await object.check?.(request, api);
        // The cast is safe because the rule of a kind reads the fields of its writes.
        const wanted = { kind, op, name, fields: readFields(request, rule) } as Write;
        return sendWritten(api, request, reply, wanted, ({ object: written }) =>
          sendObject(request, reply, status, requireFound(written, kind, name)),
        );
      };

    app.get(listPath, docs.list, async (_request, reply) => {
      const { value, revision } = await api.store.names(kind);
      return sendAtRevision(reply, 200, revision, { [collection]: value });
    });
    app.get(objectPath, docs.read, async (request, reply) => {
      const name = nameIn(request, kind);
      const read = await api.store.object(kind, name);
      return sendObject(request, reply, 200, requireFound(read, kind, name));
    });
    app.post(objectPath, docs.create, write(200, 'create', whole));
    app.delete(objectPath, docs.delete, async (request, reply) => {
      const remove: Write = { kind, op: 'delete', name: nameIn(request, kind) };
      return sendWritten(api, request, reply, remove, (deleted) =>
        sendAtRevision(reply, 200, deleted.object.revision, {}),
      );
    });
    app.post(`${objectPath}/update`, docs.replace, write(202, 'replace', whole));
    app.put(`${objectPath}/update`, docs.update, write(202, partialOp, partial));
    app.patch(`${objectPath}/update`, docs.patch, write(202, partialOp, partial));
  };
}

/** Describes each route for the OpenAPI document. */
function describeRoutes({ kind, tag, title, summaries, record }: ObjectRoutes) {
  const bodies = bodyRules(kind);
  const { noun, collection } = DESCRIPTORS[kind];
  const Names = z.object({ [collection]: z.array(z.string()) }).meta({ id: `${title}Names` });
  const writes = documentedWrites(tag, 'edit', { kind });
  const creates = documentedWrites(tag, 'edit', { kind, isCreated: true });
  const whole = bodyDocs(bodies.whole, `${title}Fields`);
  const partial = bodyDocs(bodies.partial, `${title}Change`);
  const updated = [202, json(`The updated ${noun}.`, record)] as const;
  return {
    list: documented({
      operationId: `list${title}s`,
      action: 'read',
      carriesRevision: true,
      summary: summaries.list,
      tag,
      reply: [200, json('The names, sorted.', Names)],
      errors: commonErrors,
    }),
    read: documented({
      operationId: `get${title}`,
      action: 'read',
      summary: summaries.read,
      tag,
      object: { kind },
      reply: [200, json(`The ${noun}.`, record)],
      errors: { ...readErrors(kind), ...notModified },
    }),
    create: creates(`create${title}`, summaries.create, [200, json(`The new ${noun}.`, record)], whole),
    delete: writes(`delete${title}`, summaries.delete, [200, json(`The ${noun} is deleted.`, Empty)]),
    replace: writes(`replace${title}`, summaries.replace, updated, whole),
    update: writes(`update${title}`, summaries.change, updated, partial),
    patch: writes(`patch${title}`, summaries.change, updated, partial),
  };
}
