import type { FastifyInstance, FastifyRequest } from 'fastify';
import { absentError } from '../../change/refusals.ts';
import { HoldfastError, messageOf } from '../../errors.ts';
import { AppRecord } from '../../protocol/info.ts';
import { keyOf } from '../../protocol/name.ts';
import type { AtRevision, StoredApp } from '../../store/store.ts';
import type { Api } from '../api.ts';
import { ifMatchIn } from '../conditions.ts';
import { refuseIfNoneMatch, requireFound, sendObject, writeObject } from '../one-object.ts';
import { documentedWrites } from '../openapi/documented.ts';
import { json } from '../openapi/replies.ts';
import { checkExistence } from '../request/checks.ts';
import { operationContext } from '../request/context.ts';
import { nameIn } from '../request/name.ts';

const docs = documentedWrites('apps', { kind: 'app' });

/** Starting, stopping and restarting apps (docs/contract.md, 3). */
export function appActionRoutes(app: FastifyInstance, api: Api): void {
  for (const [action, summary, description, running] of [
    ['start', 'Start an app', 'The app, with running set to true.', true],
    ['stop', 'Stop an app', 'The app, with running set to false.', false],
  ] as const) {
    const actionDocs = docs(`${action}App`, summary, [202, json(description, AppRecord)]);
    app.post(`/api/v2/apps/:app_name/${action}`, actionDocs, async (request, reply) => {
      const name = nameIn(request, 'app');
      const write = { kind: 'app', op: 'change', name, fields: { running } } as const;
      const { object } = await writeObject(api, request, write);
      return sendObject(request, reply, 202, requireFound(object, 'app', name));
    });
  }

  const restartDocs = docs('restartApp', 'Restart an app and pull the latest image of its tag', [
    202,
    json('The app with its higher id.', AppRecord),
  ]);
  app.post('/api/v2/apps/:app_name/restart', restartDocs, async (request, reply) => {
    const name = nameIn(request, 'app');
    await checkExistence(api, { kind: 'app' }, name);
    const { value: stored } = await api.store.app(name);
    const started = stored?.content.running === true ? null : await startStopped(api, request, name);
    return sendObject(request, reply, 202, started ?? (await restart(api, request, name)));
  });
}

/**
 * Restarts a stopped app by a commit that starts it, which also raises its id. Resolves to null if the app runs by then,
 * so that no commit was made. Rejects as `unavailable` if the app was started but the restart could not be logged.
 */
async function startStopped(
  api: Api,
  request: FastifyRequest,
  name: string,
): Promise<AtRevision<StoredApp> | null> {
  const write = { kind: 'app', op: 'change', name, fields: { running: true } } as const;
  const { revision, object } = await writeObject(api, request, write);
  if (revision === null) return null;
  const started = requireFound(object, 'app', name);
  try {
    await logRestart(api, request, started.value);
  } catch (error) {
    const message = `app "${name}" is started, but the restart could not be logged: ${messageOf(error)}`;
    throw new HoldfastError('unavailable', message, { revision, applied: true }, error);
  }
  return started;
}

async function logRestart(
  { store, now }: Api,
  request: FastifyRequest,
  { name, appId }: StoredApp,
): Promise<void> {
  const { actor, requestId, at } = operationContext(request, now());
  await store.logOperation({ at, actor, requestId, action: 'restart', name, ids: { [name]: appId } });
}

async function restart(api: Api, request: FastifyRequest, name: string): Promise<AtRevision<StoredApp>> {
  await refuseIfNoneMatch(api, request, { kind: 'app', name });
  const context = operationContext(request, api.now());
  const restarted = await api.store.restartApp(name, context, ifMatchIn(request));
  if (restarted === null) throw absentError('app', name);
  api.info.invalidate([keyOf('app', name)]);
  return restarted;
}
