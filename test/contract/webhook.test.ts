import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, SMALL_FLEET, startManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { suiteManager } from '../support/suite.ts';

const SECRET = 'a secret with "quotes" – and a dash';
const PAYLOAD = '{"ref":"refs/heads/main"}';
const sign = (body: string | Uint8Array, key = SECRET): string =>
  createHmac('sha256', key).update(body).digest('hex');

describe('docs/contract.md, 4.5: POST /webhook', () => {
  const manager = suiteManager({ files: SMALL_FLEET, settings: { WEBHOOK_SECRET: SECRET } });
  const send = (headers: Record<string, string>, raw: string | Uint8Array = PAYLOAD) =>
    manager().request('POST', '/webhook', { raw, headers, authorization: null });

  it.each([
    ['GitHub', { 'x-hub-signature-256': `sha256=${sign(PAYLOAD)}` }],
    ['Gitea', { 'x-gitea-signature': sign(PAYLOAD) }],
    [
      'Gitea, which sends both headers',
      { 'x-gitea-signature': sign(PAYLOAD), 'x-hub-signature-256': `sha256=${sign(PAYLOAD)}` },
    ],
  ])('202 for a signature of %s', async (_, headers) => {
    const reply = await send(headers);
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual({ accepted: true });
  });

  it('202 for the token of GitLab', async () => {
    const plain = await startManager({ files: SMALL_FLEET, settings: { WEBHOOK_SECRET: 'plain' } });
    const reply = await plain.request('POST', '/webhook', {
      raw: PAYLOAD,
      headers: { 'x-gitlab-token': 'plain' },
      authorization: null,
    });
    expect(reply.status).toBe(202);
  });

  it.each([
    ['no signature', {}],
    ['an empty signature', { 'x-hub-signature-256': '' }],
    ['a signature with another key', { 'x-hub-signature-256': `sha256=${sign(PAYLOAD, 'other')}` }],
    ['a signature of another body', { 'x-hub-signature-256': `sha256=${sign(`${PAYLOAD} `)}` }],
    ['a signature in capitals', { 'x-hub-signature-256': `sha256=${sign(PAYLOAD).toUpperCase()}` }],
    ['a signature without its prefix', { 'x-hub-signature-256': sign(PAYLOAD) }],
    ['a signature in the header for SHA-1', { 'x-hub-signature': `sha1=${sign(PAYLOAD)}` }],
    ['a wrong token of GitLab', { 'x-gitlab-token': 'x' }],
    ["the administrator's credentials", { authorization: AUTHORIZATION }],
  ])('401 for %s', async (_, headers) => {
    expect((await send(headers as Record<string, string>)).status).toBe(401);
  });

  it.each([
    ['a form', 'application/x-www-form-urlencoded', 'payload=%7B%7D'],
    ['bytes that are not text', 'application/octet-stream', Uint8Array.of(0xff, 0, 0xfe)],
    ['an empty body', 'application/json', ''],
  ])('202 for a signature over the raw bytes of any body: %s', async (_, type, raw) => {
    const reply = await send({ 'content-type': type, 'x-hub-signature-256': `sha256=${sign(raw)}` }, raw);
    expect(reply.status).toBe(202);
  });

  it.each([
    ['202 for its signature', { 'x-hub-signature-256': `sha256=${sign('')}` }, 202],
    ['202 for its signature of Gitea', { 'x-gitea-signature': sign('') }, 202],
    ['401 for a signature of another body', { 'x-hub-signature-256': `sha256=${sign(PAYLOAD)}` }, 401],
  ])('a request without a body and content type: %s', async (_, headers, status) => {
    const url = `${manager().service.address}/webhook`;
    expect((await fetch(url, { method: 'POST', headers })).status).toBe(status);
  });

  it('accepts a body above BODY_LIMIT, as a push of many commits has', async () => {
    const large = `{"commits":"${'x'.repeat(5_000_000)}"}`;
    const headers = { 'x-hub-signature-256': `sha256=${sign(large)}` };
    expect((await send(headers, large)).status).toBe(202);
    expect((await send(headers, `${large} `)).status).toBe(401);
  });

  it.each([
    ['before a body of this length is sent', 'Content-Length: 26214401\r\n\r\n'],
    [
      'as soon as that much has arrived',
      `Transfer-Encoding: chunked\r\n\r\n1900001\r\n${'x'.repeat(26_214_401)}\r\n`,
    ],
  ])('413 above 25 MiB, the most that GitHub sends: %s', async (_, rest) => {
    const { hostname, port } = new URL(manager().service.address);
    const socket = connect(Number(port), hostname);
    socket.write(`POST /webhook HTTP/1.1\r\nHost: x\r\n${rest}`);
    const reply = await new Promise<string>((resolve, reject) => {
      socket.once('data', (data) => resolve(data.toString()));
      socket.once('error', reject);
    });
    socket.destroy();
    expect(reply).toMatch(/^HTTP\/1\.1 413 /);
    expect(reply).toMatch(/^connection: close\r$/im);
  });

  it('405 for another method, which is counted for this route', async () => {
    expect((await manager().get('/webhook', { authorization: null })).status).toBe(405);
    expect((await manager().get('/metrics')).text).toMatch(
      /^holdfast_http_requests_total\{method="GET",route="\/webhook",status="405"\} [1-9]/m,
    );
  });

  it('404 if WEBHOOK_SECRET is unset, also for a signature with an empty key', async () => {
    const withoutSecret = await startManager({ files: SMALL_FLEET });
    const headers = { 'x-hub-signature-256': `sha256=${sign(PAYLOAD, '')}`, 'x-gitlab-token': '' };
    const reply = await withoutSecret.request('POST', '/webhook', {
      raw: PAYLOAD,
      headers,
      authorization: null,
    });
    expect(reply.status).toBe(404);
  });

  it('same effect as POST /api/v2/reconcile: a push to origin is applied', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const follower = await startFollower(origin, { settings: { WEBHOOK_SECRET: SECRET } });
    const id = await origin.push({ 'desired-state/apps/web.yaml': 'container_image: pushed:1\n' });
    const headers = { 'x-hub-signature-256': `sha256=${sign(PAYLOAD)}` };
    const reply = await follower.request('POST', '/webhook', { raw: PAYLOAD, headers, authorization: null });
    expect(reply.status).toBe(202);
    await expect
      .poll(async () => (await follower.get('/api/v2/reconcile')).body.revision_applied, { timeout: 60_000 })
      .toBe(id);
  });

  it('polls origin far less often than it is called by concurrent requests, and applies the last push', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const follower = await startFollower(origin, { settings: { WEBHOOK_SECRET: SECRET } });
    const headers = { 'x-hub-signature-256': `sha256=${sign(PAYLOAD)}` };
    const options = { raw: PAYLOAD, headers, authorization: null };
    const flood = () =>
      Promise.all(Array.from({ length: 200 }, () => follower.request('POST', '/webhook', options)));
    const fetches = async (): Promise<number> => {
      const { text } = await follower.get('/metrics');
      return Number(/holdfast_origin_transfers_total\{kind="fetch",outcome="done"\} (\d+)/.exec(text)?.[1]);
    };
    const before = await fetches();
    const first = flood();
    const id = await origin.push({ 'desired-state/apps/web.yaml': 'container_image: pushed:2\n' });
    await first;
    await flood();
    await expect
      .poll(async () => (await follower.get('/api/v2/reconcile')).body.revision_applied, { timeout: 60_000 })
      .toBe(id);
    expect((await fetches()) - before).toBeLessThan(100);
  });
});
