import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { Write } from '../../change/write.ts';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import type { Kind } from '../../protocol/name.ts';
import type { StoredObject } from '../../store/objects/port.ts';
import type { Api } from '../api.ts';
import { requireFound, sendObject, sendWritten } from '../one-object.ts';
import { commonErrors, Empty, json, notModified, readErrors } from '../openapi/replies.ts';
import { bodyDocs, type Method, route, type Tag, writeRoutes } from '../openapi/route.ts';
import { bodyRules } from '../request/body-rules.ts';
import { type BodyRule, readFields } from '../request/fields.ts';
import { nameIn } from '../request/name.ts';
import { sendAtRevision } from '../revision.ts';
import { nameParameter } from '../route-record.ts';

/** How the routes that write objects of one kind differ from those of the others. */
interface ObjectWrites {
  kind: Kind;
  tag: Tag;
  /** The part of the names of operations and schemas that names the kind: `App` in `createApp` and `AppFields`. */
  title: string;
  summaries: Readonly<Record<'create' | 'delete' | 'replace' | 'change', string>>;
  /** The object in a reply. */
  record: z.ZodType;
  /** Runs before the fields of a body are read. Rejects with the 403 of objects in the body that do not exist. */
  check?(request: FastifyRequest, api: Api): Promise<void>;
  /** Resolves to what a reply shows, if that is more than what the store has. */
  show?(object: StoredObject, api: Api): Promise<object>;
}

/** The same, with routes that read. */
interface ObjectRoutes extends ObjectWrites {
  summaries: ObjectWrites['summaries'] & Readonly<Record<'list' | 'read', string>>;
}

/**
 * Makes the routes that list, read, create, delete and update objects of one kind (docs/contract.md, 4.1). Call it only once
 * for each kind: schemas are registered by name for the whole process.
 */
export function objectRoutes(object: ObjectRoutes): (app: FastifyInstance, api: Api) => void {
  const { kind } = object;
  const { collection } = DESCRIPTORS[kind];
  const routes = describeReads(object);
  const addWrites = objectWrites(object);
  return (app, api) => {
    routes.list(app, async (_request, reply) => {
      const { value, revision } = await api.store.names(kind);
      return sendAtRevision(reply, 200, revision, { [collection]: value });
    });
    routes.read(app, async (request, reply) => {
      const name = nameIn(request, kind);
      const read = await api.store.object(kind, name);
      return sendObject(request, reply, 200, requireFound(read, kind, name));
    });
    addWrites(app, api);
  };
}

/** Makes the routes that create, delete and update objects of one kind. Call it only once for each kind. */
export function objectWrites(object: ObjectWrites): (app: FastifyInstance, api: Api) => void {
  const { kind } = object;
  const { partialOp } = DESCRIPTORS[kind];
  const { whole, partial } = bodyRules(kind);
  const routes = describeWrites(object);
  return (app, api) => {
    const write =
      (status: number, op: Write['op'], rule: BodyRule) =>
      async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
        const name = nameIn(request, kind);
        await object.check?.(request, api);
        // The cast is safe because the rule of a kind reads the fields of its writes.
        const wanted = { kind, op, name, fields: readFields(request, rule) } as Write;
        return sendWritten(api, request, reply, wanted, async ({ object: written }) => {
          const found = requireFound(written, kind, name);
          return sendObject(request, reply, status, found, await object.show?.(found.value, api));
        });
      };

    routes.create(app, write(200, 'create', whole));
    routes.delete(app, async (request, reply) => {
      const remove: Write = { kind, op: 'delete', name: nameIn(request, kind) };
      return sendWritten(api, request, reply, remove, (deleted) =>
        sendAtRevision(reply, 200, deleted.object.revision, {}),
      );
    });
    routes.replace(app, write(202, 'replace', whole));
    routes.update(app, write(202, partialOp, partial));
    routes.patch(app, write(202, partialOp, partial));
  };
}

/** Describes each route that writes. */
function describeWrites({ kind, tag, title, summaries, record }: ObjectWrites) {
  const bodies = bodyRules(kind);
  const { noun, collection } = DESCRIPTORS[kind];
  const path = `/api/v2/${collection}/:${nameParameter(kind)}`;
  const writes = writeRoutes(tag, 'edit', { kind });
  const creates = writeRoutes(tag, 'edit', { kind, isCreated: true });
  const whole = bodyDocs(bodies.whole, `${title}Fields`);
  const partial = bodyDocs(bodies.partial, `${title}Change`);
  const updates = (method: Method, name: string, summary: string, body: z.ZodType) => {
    const reply = [202, json(`The updated ${noun}.`, record)] as const;
    return writes(method, `${path}/update`, { operationId: `${name}${title}`, summary, reply, body });
  };
  return {
    create: creates('POST', path, {
      operationId: `create${title}`,
      summary: summaries.create,
      reply: [200, json(`The new ${noun}.`, record)],
      body: whole,
    }),
    delete: writes('DELETE', path, {
      operationId: `delete${title}`,
      summary: summaries.delete,
      reply: [200, json(`The ${noun} is deleted.`, Empty)],
    }),
    replace: updates('POST', 'replace', summaries.replace, whole),
    update: updates('PUT', 'update', summaries.change, partial),
    patch: updates('PATCH', 'patch', summaries.change, partial),
  };
}

/** Describes each route that reads. */
function describeReads({ kind, tag, title, summaries, record }: ObjectRoutes) {
  const { noun, collection } = DESCRIPTORS[kind];
  const Names = z.object({ [collection]: z.array(z.string()) }).meta({ id: `${title}Names` });
  return {
    list: route('GET', `/api/v2/${collection}`, {
      operationId: `list${title}s`,
      action: 'read',
      carriesRevision: true,
      summary: summaries.list,
      tag,
      reply: [200, json('The names, sorted.', Names)],
      errors: commonErrors,
    }),
    read: route('GET', `/api/v2/${collection}/:${nameParameter(kind)}`, {
      operationId: `get${title}`,
      action: 'read',
      summary: summaries.read,
      tag,
      object: { kind },
      reply: [200, json(`The ${noun}.`, record)],
      errors: { ...readErrors(kind), ...notModified },
    }),
  };
}
