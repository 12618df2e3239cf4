import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { check } from '../../desired/explain.ts';
import { stateOf } from '../../fleet/asks.ts';
import { deviceOf } from '../../fleet/state.ts';
import { AskAnswer, AskBody, AskRecord, MAX_ANSWER_BYTES, MadeAsk, WaitingAsks } from '../../protocol/ask.ts';
import { Name } from '../../protocol/name.ts';
import { DEVICE_HEADER } from '../../protocol/poll.ts';
import type { Ask } from '../../store/asks/ask.ts';
import type { Api } from '../api.ts';
import { bodyErrors, commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { operationContext } from '../request/context.ts';
import { deviceAbsent, deviceNameIn } from '../request/device.ts';
import { badFields, readJson } from '../request/fields.ts';
import { RequestRefused } from '../request-refused.ts';

/** Seconds after which a device has probably answered. */
const RETRY_AFTER = '10';

const tag = 'devices';
const params = z.object({ device_name: Name });
const oneParams = z.object({ device_name: Name, ask_id: z.string() });
const DeviceAbsent = z.object({ device_exists: z.literal(false) }).meta({ id: 'DeviceAbsent' });
const AskAbsent = z.object({ ask_exists: z.literal(false) }).meta({ id: 'AskAbsent' });
const absent = { 403: json('There is no such ask, or the request is not permitted.', AskAbsent) };

const makeRoute = route('POST', '/api/v2/devices/:device_name/asks', {
  operationId: 'askDevice',
  action: 'operate',
  summary: 'Ask a device for logs of an app, or to try an app again; it answers at its next poll',
  tag,
  params,
  body: AskBody.meta({ id: 'AskBody' }),
  reply: [201, json('The device is asked.', MadeAsk)],
  errors: {
    ...commonErrors,
    ...bodyErrors,
    ...parameterErrors,
    403: json('No such device is known, or the request is not permitted.', DeviceAbsent),
  },
});
const listRoute = route('GET', '/api/v2/devices/:device_name/asks', {
  operationId: 'listAsks',
  action: 'poll',
  summary: 'What waits for a device; it reads this when a poll says that there is something',
  tag,
  params,
  reply: [200, json('The asks, oldest first.', WaitingAsks)],
  errors: { ...commonErrors, ...parameterErrors },
});
const readRoute = route('GET', '/api/v2/devices/:device_name/asks/:ask_id', {
  operationId: 'getAsk',
  action: 'operate',
  summary: 'Read an ask, and its answer',
  tag,
  params: oneParams,
  reply: [200, json('The ask.', AskRecord)],
  errors: { ...commonErrors, ...parameterErrors, ...absent },
});
const Answered = z.object({ accepted: z.literal(true) }).meta({ id: 'AcceptedAnswer' });
const answerRoute = route('POST', '/api/v2/devices/:device_name/asks/:ask_id', {
  operationId: 'answerAsk',
  action: 'report',
  summary: 'Answer an ask, as the device that was asked',
  tag,
  params: oneParams,
  body: AskAnswer,
  reply: [200, json('The answer is kept for 15 minutes.', Answered)],
  errors: { ...commonErrors, ...bodyErrors, ...parameterErrors, ...absent },
});

/** Asks: what a person wants to know of one device, or wants it to do (docs/fleet.md). */
export function askRoutes(app: FastifyInstance, { asks, fleet, store, now }: Api): void {
  makeRoute(app, async (request, reply) => {
    const device = deviceNameIn(request);
    const body = readBody(request, AskBody);
    if (deviceOf(device, await fleet.known()) === null) throw deviceAbsent(device);
    reply.header('retry-after', RETRY_AFTER);
    const ask = await asks.ask(device, body, request.user.name);
    reply.removeHeader('retry-after');
    await store.logOperation({
      ...operationContext(request, now()),
      action: 'ask',
      name: body.app,
      text: sentence(ask),
      ids: {},
    });
    const { state, expiresAt } = stateOf(ask, now());
    const { id, kind, app: name } = ask;
    return reply
      .code(201)
      .send({ id, kind, app: name, state, expires_at: new Date(expiresAt).toISOString() } satisfies MadeAsk);
  });
  listRoute(app, async (request) => {
    const device = ownNameIn(request);
    const waiting = await asks.waitingFor(device);
    return { asks: waiting.map(waitingRecord) } satisfies WaitingAsks;
  });
  readRoute(app, async (request) => {
    const ask = await asks.get(deviceNameIn(request), idIn(request));
    if (ask === null) throw askAbsent();
    return askRecord(ask, now());
  });
  answerRoute(app, async (request) => {
    const device = ownNameIn(request);
    const answer = readBody(request, AskAnswer);
    if (Buffer.byteLength(answer.text) > MAX_ANSWER_BYTES)
      throw new RequestRefused(400, 'the answer is too long', {
        invalid_parameters: { text: `must have at most ${MAX_ANSWER_BYTES} bytes; send the newest lines` },
      });
    if (!(await asks.answer(device, idIn(request), answer))) throw askAbsent();
    return { accepted: true };
  });
}

function waitingRecord({ id, kind, app, container, lines, since }: Ask): WaitingAsks['asks'][number] {
  return { id, kind, app, container, lines, since };
}

function sentence({ kind, app, device }: Ask): string {
  return kind === 'logs'
    ? `app ${app}: logs asked of ${device}`
    : `app ${app}: another try asked of ${device}`;
}

function askRecord(ask: Ask, now: number): AskRecord {
  const { id, kind, app, by, at, answer } = ask;
  return {
    id,
    kind,
    app,
    state: stateOf(ask, now).state,
    by,
    at: new Date(at).toISOString(),
    answered_at: answer === null ? null : new Date(answer.at).toISOString(),
    text: answer?.text ?? null,
    truncated: answer?.truncated ?? false,
    error: answer?.error ?? null,
  };
}

/** The name in the path, which must be that of the device that asks, if it says who it is. */
function ownNameIn(request: FastifyRequest): string {
  const name = deviceNameIn(request);
  const { [DEVICE_HEADER]: sender } = request.headers;
  if (sender === undefined || sender === name) return name;
  throw new RequestRefused(403, 'the asks are those of another device', { access_allowed: false });
}

function idIn({ params }: FastifyRequest): string {
  return (params as Record<string, string>)['ask_id'] ?? '';
}

function readBody<T>(request: FastifyRequest, schema: z.ZodType<T>): T {
  const parsed = check(schema, readJson(request));
  if (parsed.success) return parsed.data;
  throw badFields(parsed.error.issues, []);
}

function askAbsent(): RequestRefused {
  return new RequestRefused(403, 'no such ask waits for this device', { ask_exists: false });
}
