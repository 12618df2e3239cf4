import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { AppWrite } from '../../change/write.ts';
import { APP_FIELDS, AppChange, AppFields } from '../../desired/app.ts';
import { Name } from '../../desired/name.ts';
import type { AtRevision, StoredApp } from '../../store/store.ts';
import {
  type Api,
  createContext,
  found,
  mustExist,
  mustNotExist,
  nameIn,
  send,
  sendObject,
  writeContext,
} from '../api.ts';
import { type BodyRule, readFields } from '../fields.ts';
import { AppRecord, appRecord } from '../records.ts';
import {
  commonErrors,
  documented,
  documentedWrites,
  Empty,
  json,
  readErrors,
  unchanged,
  withIgnored,
} from '../replies.ts';

const known: readonly string[] = APP_FIELDS;
/** A record that was read from the API can be sent back. */
const ignored = ['app_name', 'app_id', '_id'];

const whole: BodyRule<AppFields> = { schema: AppFields, known, ignored, required: ['container_image'] };
const partial: BodyRule<AppChange> = { schema: AppChange, known, ignored, required: null };

const wholeBody = withIgnored(AppFields, ignored, { id: 'AppFields' });
const partialBody = withIgnored(AppChange, ignored, { id: 'AppChange', minProperties: 1 });
const AppNames = z.object({ apps: z.array(z.string()) }).meta({ id: 'AppNames' });

const tag = 'apps';
const params = z.object({ app_name: Name });
const docs = documentedWrites(tag, 'app', params);
const names = documented({
  operationId: 'listApps',
  summary: 'List the names of all apps',
  tag,
  reply: [200, json('The names, in order.', AppNames)],
  errors: commonErrors,
});

/** Sends an app as it was read, unless that is known to who reads it. */
export function sendApp(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  read: AtRevision<StoredApp>,
): FastifyReply {
  return sendObject(request, reply, status, read, appRecord);
}

/** Makes a change of an app, and sends the app as it is right after. */
export async function writeApp(
  { writer }: Api,
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  write: AppWrite,
): Promise<FastifyReply> {
  const context = write.op === 'create' ? createContext(request) : writeContext(request);
  const { object } = await writer.write(write, context);
  return sendApp(request, reply, status, found(object, 'app', write.name));
}

/** Apps as configuration (contract, section 4): list, read, create, update and delete. */
export function appRoutes(app: FastifyInstance, api: Api): void {
  const { store } = api;

  app.get('/api/v2/apps', names, async (_request, reply) => {
    const { value, revision } = await store.appNames();
    return send(reply, 200, revision, { apps: value });
  });

  const readDocs = documented({
    operationId: 'getApp',
    summary: 'Read an app',
    tag,
    params,
    reply: [200, json('The app.', AppRecord)],
    errors: { ...readErrors('app'), ...unchanged },
  });
  app.get('/api/v2/apps/:app_name', readDocs, async (request, reply) => {
    const name = nameIn(request, 'app');
    return sendApp(request, reply, 200, found(await store.app(name), 'app', name));
  });

  const createDocs = docs('createApp', 'Create an app', [200, json('The new app.', AppRecord)], wholeBody);
  app.post('/api/v2/apps/:app_name', createDocs, async (request, reply) => {
    const name = nameIn(request, 'app');
    await mustNotExist(api, 'app', name);
    const fields = readFields(request, whole);
    return writeApp(api, request, reply, 200, { kind: 'app', op: 'create', name, fields });
  });

  const deleteDocs = docs('deleteApp', 'Delete an app; it leaves every device group', [
    200,
    json('The app is deleted.', Empty),
  ]);
  app.delete('/api/v2/apps/:app_name', deleteDocs, async (request, reply) => {
    const name = nameIn(request, 'app');
    const { object } = await api.writer.write({ kind: 'app', op: 'delete', name }, writeContext(request));
    return send(reply, 200, object.revision, {});
  });

  updateRoutes(app, api);
}

function updateRoutes(app: FastifyInstance, api: Api): void {
  const url = '/api/v2/apps/:app_name/update';

  const replaceDocs = docs(
    'replaceApp',
    'Replace all fields; what is left out goes back to its default',
    [202, json('The app as it is now.', AppRecord)],
    wholeBody,
  );
  app.post(url, replaceDocs, async (request, reply) => {
    const name = nameIn(request, 'app');
    await mustExist(api, 'app', name);
    const fields = readFields(request, whole);
    return writeApp(api, request, reply, 202, { kind: 'app', op: 'replace', name, fields });
  });

  const change = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const name = nameIn(request, 'app');
    await mustExist(api, 'app', name);
    const fields = readFields(request, partial);
    return writeApp(api, request, reply, 202, { kind: 'app', op: 'change', name, fields });
  };
  const changeDocs = (operationId: string): { schema: object } =>
    docs(
      operationId,
      'Change some fields; the others keep their values',
      [202, json('The app as it is now.', AppRecord)],
      partialBody,
    );
  app.put(url, changeDocs('updateApp'), change);
  app.patch(url, changeDocs('patchApp'), change);
}
