import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { absent } from '../../change/view.ts';
import { keyOf } from '../../desired/name.ts';
import { HoldfastError, messageOf } from '../../errors.ts';
import type { StoredApp } from '../../store/store.ts';
import { type Api, expectedId, mustExist, nameIn, operationContext, writeContext } from '../api.ts';
import { AppRecord } from '../records.ts';
import { documented, writeErrors } from '../replies.ts';
import { sendApp } from './apps.ts';

const params = z.object({ app_name: z.string() });

function docs(summary: string): { schema: object } {
  return documented({ summary, tag: 'apps', params, reply: [202, AppRecord], errors: writeErrors });
}

/** Starting, stopping and restarting apps (contract, section 3). */
export function appActionRoutes(app: FastifyInstance, api: Api): void {
  for (const [action, running] of [
    ['start', true],
    ['stop', false],
  ] as const) {
    app.post(
      `/api/v2/apps/:app_name/${action}`,
      docs(`Set an app to running: ${running}`),
      async (request, reply) => {
        const name = nameIn(request, 'app');
        await api.writer.write(
          { kind: 'app', op: 'change', name, fields: { running } },
          writeContext(request),
        );
        return sendApp(api, reply, 202, name);
      },
    );
  }

  const restartDocs = docs('Restart an app with the newest image of its tag');
  app.post('/api/v2/apps/:app_name/restart', restartDocs, async (request, reply) => {
    const name = nameIn(request, 'app');
    await mustExist(api, 'app', name);
    const { value: stored } = await api.store.app(name);
    const wasStarted = stored?.content.running !== true && (await startStopped(api, request, name));
    if (!wasStarted) await restart(api, request, name, stored);
    return sendApp(api, reply, 202, name);
  });
}

/** Restarting a stopped app is a commit, which raises the id by itself; false where it runs meanwhile. */
async function startStopped(api: Api, request: FastifyRequest, name: string): Promise<boolean> {
  const write = { kind: 'app', op: 'change', name, fields: { running: true } } as const;
  const { revision } = await api.writer.write(write, writeContext(request));
  if (revision === null) return false;
  try {
    await logRestart(api, request, name);
  } catch (error) {
    const message = `app "${name}" is started, but the restart could not be logged: ${messageOf(error)}`;
    throw new HoldfastError('unavailable', message, { revision, applied: true }, error);
  }
  return true;
}

async function logRestart({ store, now }: Api, request: FastifyRequest, name: string): Promise<void> {
  const { value } = await store.app(name);
  const { actor, requestId, at } = operationContext(request, now());
  const ids = { [name]: value?.appId ?? 0 };
  await store.logOperation({ at, actor, requestId, action: 'restart', name, ids });
}

async function restart(
  api: Api,
  request: FastifyRequest,
  name: string,
  seen: StoredApp | null,
): Promise<void> {
  const context = operationContext(request, api.now());
  const restarted = await api.store.restartApp(name, context, expectedId(request, seen?.appId));
  if (restarted === null) throw absent('app', name);
  api.info.invalidate([keyOf('app', name)]);
}
