import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, PASSWORD, USER } from '../support/manager.ts';
import { lastCommit } from '../support/manager-state.ts';
import { recordFiles } from '../support/record-files.ts';
import { type FleetSetup, type Program, serve, setUpFleet } from './program.ts';

const ACCOUNT = { BASIC_AUTH_USER: USER, BASIC_AUTH_PASSWORD: PASSWORD };
const BODY = JSON.stringify({ container_image: 'nginx:1.27' });

/** Sends the head of a write. Resolves once the manager has asked for the body, which is not sent yet. */
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

/** A manager, and a write whose head it has received. */
async function startWithOpenWrite(): Promise<{ setup: FleetSetup; program: Program; sent: ClientRequest }> {
  const setup = await setUpFleet();
  const program = await serve(setup, ACCOUNT);
  return { setup, program, sent: await beginWrite(program) };
}

describe.each([
  ['SIGTERM', 0],
  ['SIGINT', 0],
  ['SIGHUP', null],
] as const)('a manager that gets %s', (signal, code) => {
  it(`finishes the open write, accepts no connection, and ends with ${code === null ? 'the signal' : 'exit code 0'}`, async () => {
    const { setup, program, sent } = await startWithOpenWrite();
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
    const { subject } = await lastCommit(setup.repository);
    expect(subject).toBe('app web: container_image 1.26 -> 1.27');
    expect(await setup.repository.git('status', '--porcelain')).toBe('');
  });
});

describe('a manager that is stopping', () => {
  it('ignores a second SIGHUP, which a closing terminal sends, but ends at once on another signal', async () => {
    const { program, sent } = await startWithOpenWrite();
    program.child.kill('SIGHUP');
    await program.waitFor(/"msg":"stopping"/);
    program.child.kill('SIGHUP');
    const replied = replyTo(sent);
    sent.end(BODY);
    expect((await replied).status).toBe(202);
    await program.ended;
    expect(program.child.signalCode).toBe('SIGHUP');
    expect(program.log().at(-1)).toMatchObject({ msg: 'stopped' });

    const second = await startWithOpenWrite();
    second.sent.on('error', () => undefined);
    second.program.child.kill('SIGHUP');
    await second.program.waitFor(/"msg":"stopping"/);
    await moreThanASecond();
    second.program.child.kill('SIGTERM');
    expect(await second.program.ended).toBe(3);
  });

  // Workers stop their containers when they get JSON without `apps`.
  it('answers polls that had begun to arrive as usual', async () => {
    const setup = await setUpFleet();
    const program = await serve(setup, ACCOUNT);
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

  it('does not wait for a client that never sends its body: it ends with 0 and writes nothing', async () => {
    const { setup, program, sent } = await startWithOpenWrite();
    const before = await setup.repository.git('rev-parse', 'HEAD');
    const failed = once(sent, 'error');
    sent.write(BODY.slice(0, 5));
    program.child.kill('SIGTERM');
    await failed;
    expect(await program.ended).toBe(0);
    expect(program.log().at(-1)).toMatchObject({ msg: 'stopped' });
    expect(await setup.repository.git('rev-parse', 'HEAD')).toBe(before);
  });

  it.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
  ] as const)(
    'ends at once with 3 on a second signal after more than a second: %s, then %s',
    async (first, second) => {
      const { program, sent } = await startWithOpenWrite();
      sent.on('error', () => undefined);
      program.child.kill(first);
      await program.waitFor(/"msg":"stopping"/);
      await moreThanASecond();
      program.child.kill(second);
      expect(await program.ended).toBe(3);
      expect(program.output()).not.toContain('"stopped"');
    },
  );

  it('finishes the open write, and ends with 0, if a second signal came in the same moment, as npm sends one', async () => {
    const { setup, program, sent } = await startWithOpenWrite();
    program.child.kill('SIGINT');
    program.child.kill('SIGTERM');
    await program.waitFor(/"msg":"stopping"/);
    const replied = replyTo(sent);
    sent.end(BODY);
    expect((await replied).status).toBe(202);
    expect(await program.ended).toBe(0);
    expect(program.log().at(-1)).toMatchObject({ msg: 'stopped' });
    // A copy of `store.sqlite` alone is then a whole backup.
    expect((await stat(join(setup.dataFolder, 'store.sqlite-wal'))).size).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'records the last ids although its git processes got the %s too, as from systemd or a terminal',
    async (signal) => {
      const setup = await setUpFleet();
      const program = await serve(setup, ACCOUNT);
      const sent = await beginWrite(program);
      sent.end(BODY);
      expect((await replyTo(sent)).status).toBe(202);
      process.kill(-(program.child.pid as number), signal);
      expect(await program.ended).toBe(0);
      const { revision } = JSON.parse((await recordFiles(setup.repository))['meta.json'] ?? '');
      expect(revision).toBe(await setup.repository.git('rev-parse', 'HEAD'));
    },
  );
});

function moreThanASecond(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1200));
}

async function isListening({ address }: Program): Promise<boolean> {
  return fetch(`${address}/healthz`).then(
    () => true,
    () => false,
  );
}
