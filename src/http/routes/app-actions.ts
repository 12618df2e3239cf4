import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { absentError } from '../../change/refusals.ts';
import { HoldfastError, messageOf } from '../../errors.ts';
import { subjectLine } from '../../plan/describe.ts';
import { effectRecord } from '../../plan/records.ts';
import { AppRecord } from '../../protocol/info.ts';
import { keyOf } from '../../protocol/name.ts';
import type { StoredApp } from '../../store/objects/port.ts';
import type { Api } from '../api.ts';
import { ifMatchIn } from '../conditions.ts';
import { previewOperation, sendPreview } from '../dry-run.ts';
import { refuseIfNoneMatch, requireFound, sendObject, sendWritten } from '../one-object.ts';
import { json } from '../openapi/replies.ts';
import { writeRoutes } from '../openapi/route.ts';
import { checkExistence } from '../request/checks.ts';
import { operationContext } from '../request/context.ts';
import { nameIn } from '../request/name.ts';

const actionRoute = writeRoutes('apps', 'operate', { kind: 'app' });

const restartRoute = actionRoute('POST', '/api/v2/apps/:app_name/restart', {
  operationId: 'restartApp',
  summary: 'Restart an app and pull the latest image of its tag',
  reply: [202, json('The app with its higher id.', AppRecord)],
});

/** Starting, stopping and restarting apps (docs/contract.md, 3). */
export function appActionRoutes(app: FastifyInstance, api: Api): void {
  for (const [action, summary, description, running] of [
    ['start', 'Start an app', 'The app, with running set to true.', true],
    ['stop', 'Stop an app', 'The app, with running set to false.', false],
  ] as const) {
    const setRunning = actionRoute('POST', `/api/v2/apps/:app_name/${action}`, {
      operationId: `${action}App`,
      summary,
      reply: [202, json(description, AppRecord)],
    });
    setRunning(app, async (request, reply) => {
      const name = nameIn(request, 'app');
      const write = { kind: 'app', op: 'change', name, fields: { running } } as const;
      return sendWritten(api, request, reply, write, ({ object }) =>
        sendObject(request, reply, 202, requireFound(object, 'app', name)),
      );
    });
  }

  restartRoute(app, async (request, reply) => {
    const name = nameIn(request, 'app');
    await checkExistence(api, { kind: 'app' }, name);
    const { value: stored } = await api.store.object('app', name);
    const restartIt = (): Promise<FastifyReply> => restart(api, request, reply, name);
    if (stored?.content.running === true) return restartIt();
    const write = { kind: 'app', op: 'change', name, fields: { running: true } } as const;
    return sendWritten(api, request, reply, write, async ({ revision, object }) => {
      // The app runs by then, so that no commit was made.
      if (revision === null) return restartIt();
      const started = requireFound(object, 'app', name);
      await logStart(api, request, started.value, revision);
      return sendObject(request, reply, 202, started);
    });
  });
}

/**
 * Logs the restart of an app that a commit has started, which also raised its id. Rejects as `unavailable` if it cannot be
 * logged.
 */
async function logStart(
  api: Api,
  request: FastifyRequest,
  started: StoredApp,
  revision: string,
): Promise<void> {
  try {
    await logRestart(api, request, started);
  } catch (error) {
    const message = `app "${started.name}" is started, but the restart could not be logged: ${messageOf(error)}`;
    throw new HoldfastError('unavailable', message, { revision, applied: true }, error);
  }
}

async function logRestart(
  { store, now }: Api,
  request: FastifyRequest,
  { name, appId }: StoredApp,
): Promise<void> {
  const context = operationContext(request, now());
  await store.logOperation({ ...context, action: 'restart', name, ids: { [name]: appId } });
}

/** Restarts a running app, and sends it; or, if that is asked for, the preview. */
async function restart(
  api: Api,
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
): Promise<FastifyReply> {
  const key = { kind: 'app', name } as const;
  await refuseIfNoneMatch(api, request, key);
  const groups = [...(api.reconciler.passes.memory()?.applied.groupsListing(name) ?? [])].sort();
  const effects = groups.length === 0 ? [] : [effectRecord({ app: name, action: 'restart', groups })];
  const subject = subjectLine(key, ['restart']);
  const ifMatch = ifMatchIn(request);
  const preview = await previewOperation(api, request, { subject, objects: [key], effects, ifMatch });
  if (preview !== null) return sendPreview(reply, preview, api);
  const context = operationContext(request, api.now());
  const restarted = await api.store.restartApp(name, context, ifMatch);
  if (restarted === null) throw absentError('app', name);
  api.events.emit('changed', { keys: [keyOf('app', name)] });
  return sendObject(request, reply, 202, restarted);
}
