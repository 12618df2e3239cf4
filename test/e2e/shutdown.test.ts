import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, PASSWORD, USER } from '../support/manager.ts';
import { lastCommit } from '../support/manager-state.ts';
import { recordFiles } from '../support/record-files.ts';
import { makePlace, type Place, type Program, serve } from './program.ts';

const ACCOUNT = { BASIC_AUTH_USER: USER, BASIC_AUTH_PASSWORD: PASSWORD };
const BODY = JSON.stringify({ container_image: 'nginx:1.27' });

/** A write that the manager has begun to read: its body is still to come. */
async function beginWrite(program: Program): Promise<ClientRequest> {
  const sent = request(`${program.address}/api/v2/apps/web/update`, {
    method: 'PUT',
    headers: {
      authorization: AUTHORIZATION,
      'content-type': 'application/json',
      'content-length': BODY.length,
      expect: '100-continue',
    },
  });
  sent.flushHeaders();
  await once(sent, 'continue');
  return sent;
}

async function replyTo(sent: ClientRequest): Promise<{ status: number | undefined; text: string }> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode, text };
}

async function begin(): Promise<{ place: Place; program: Program; sent: ClientRequest }> {
  const place = await makePlace();
  const program = await serve(place, ACCOUNT);
  return { place, program, sent: await beginWrite(program) };
}

describe.each([
  ['SIGTERM', 0],
  ['SIGINT', 0],
  ['SIGHUP', null],
] as const)('%s', (signal, code) => {
  it(`finishes the write in flight, takes no new ones, and ends with ${code ?? 'the signal'}`, async () => {
    const { place, program, sent } = await begin();
    program.child.kill(signal);
    await program.waitFor(/"msg":"stopping"/);
    await expect.poll(() => isListening(program), { timeout: 60_000 }).toBe(false);
    const replied = replyTo(sent);
    sent.end(BODY);
    const { status, text } = await replied;
    expect([status, JSON.parse(text).container_image]).toEqual([202, 'nginx:1.27']);
    expect(await program.ended).toBe(code);
    expect(program.child.signalCode).toBe(code === null ? signal : null);
    expect(program.log().at(-1)).toMatchObject({ msg: 'stopped' });
    const { subject } = await lastCommit(place.repository);
    expect(subject).toBe('app web: container_image 1.26 -> 1.27');
    expect(await place.repository.git('status', '--porcelain')).toBe('');
  });
});

it('a second SIGHUP, as a terminal that is closed sends it, does not cut the end short; another signal does', async () => {
  const { program, sent } = await begin();
  program.child.kill('SIGHUP');
  await program.waitFor(/"msg":"stopping"/);
  program.child.kill('SIGHUP');
  const replied = replyTo(sent);
  sent.end(BODY);
  expect((await replied).status).toBe(202);
  await program.ended;
  expect(program.child.signalCode).toBe('SIGHUP');
  expect(program.log().at(-1)).toMatchObject({ msg: 'stopped' });

  const second = await begin();
  second.sent.on('error', () => undefined);
  second.program.child.kill('SIGHUP');
  await second.program.waitFor(/"msg":"stopping"/);
  second.program.child.kill('SIGTERM');
  expect(await second.program.ended).toBe(3);
});

it('a request that began to arrive before is answered as ever: workers stop their containers at a JSON without apps', async () => {
  const place = await makePlace();
  const program = await serve(place, ACCOUNT);
  const { hostname, port } = new URL(program.address);
  const polls = await Promise.all(
    Array.from({ length: 2 }, async () => {
      const socket = connect(Number(port), hostname).setEncoding('utf8');
      await once(socket, 'connect');
      socket.write('GET /api/v2/device_groups/edge/info HTTP/1.1\r\nHost: x\r\n');
      return socket;
    }),
  );
  program.child.kill('SIGTERM');
  await program.waitFor(/"msg":"stopping"/);
  await expect.poll(() => isListening(program), { timeout: 60_000 }).toBe(false);
  for (const socket of polls) {
    socket.write(`Authorization: ${AUTHORIZATION}\r\n\r\n`);
    let reply = '';
    for await (const chunk of socket) reply += chunk;
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(reply).toMatch(/^connection: close\r$/im);
    expect(reply).toContain('"apps_list":["web"');
  }
  expect(await program.ended).toBe(0);
});

it('a client that never sends its body does not keep it from ending with 0', async () => {
  const { place, program, sent } = await begin();
  const before = await place.repository.git('rev-parse', 'HEAD');
  const failed = once(sent, 'error');
  sent.write(BODY.slice(0, 5));
  program.child.kill('SIGTERM');
  await failed;
  expect(await program.ended).toBe(0);
  expect(program.log().at(-1)).toMatchObject({ msg: 'stopped' });
  expect(await place.repository.git('rev-parse', 'HEAD')).toBe(before);
});

it.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
  ['SIGINT', 'SIGTERM'],
] as const)('a second signal ends it at once, and not with 0: %s, %s', async (first, second) => {
  const { program, sent } = await begin();
  sent.on('error', () => undefined);
  program.child.kill(first);
  await program.waitFor(/"msg":"stopping"/);
  program.child.kill(second);
  expect(await program.ended).toBe(3);
  expect(program.output()).not.toContain('"stopped"');
});

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s that its git processes get too, as from systemd or a terminal: the last ids are recorded',
  async (signal) => {
    const place = await makePlace();
    const program = await serve(place, ACCOUNT);
    const sent = await beginWrite(program);
    sent.end(BODY);
    expect((await replyTo(sent)).status).toBe(202);
    process.kill(-(program.child.pid as number), signal);
    expect(await program.ended).toBe(0);
    const { revision } = JSON.parse((await recordFiles(place.repository))['meta.json'] ?? '');
    expect(revision).toBe(await place.repository.git('rev-parse', 'HEAD'));
  },
);

async function isListening({ address }: Program): Promise<boolean> {
  return fetch(`${address}/healthz`).then(
    () => true,
    () => false,
  );
}
