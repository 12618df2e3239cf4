import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { expectRefused } from '../support/manager-state.ts';
import { sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';

const INFO = '/api/v2/device_groups/edge/info';

describe('docs/contract.md, 6.4: 421 (a Host that is not served)', () => {
  const settings = { AUTH_ENABLED: 'false', ALLOWED_HOSTS: 'lab,Fleet.Example' };
  const manager = suiteManager({ files: SMALL_FLEET, settings, logLevel: 'info' });
  const statusAt = async (host: string, path: string) =>
    (await sendRaw(manager(), { path, headers: { host } })).status;

  it.each([
    '127.0.0.1',
    '192.0.2.7:8080',
    '[::1]',
    '[2001:db8::1]:8080',
    'localhost',
    'LocalHost:8080',
    'lab',
    'LAB:8080',
    'fleet.example',
  ])('without authentication, %s is served', async (host) => {
    for (const path of ['/api/v2/apps', INFO, INFO]) expect(await statusAt(host, path), path).toBe(200);
  });

  it.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.1',
    '2130706433',
    'lab.evil.example',
    'evil-lab',
    '::1',
  ])('without authentication, %s is refused in plain text, and probes are answered', async (host) => {
    await statusAt('localhost', INFO);
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/openapi.json'],
      ['GET', '/metrics'],
      ['GET', '/nothing'],
      ['GET', '/api/v2/apps'],
      ['GET', '/api/v2/apps/%zz'],
      ['GET', INFO],
      ['DELETE', '/api/v2/apps/web'],
    ] as const) {
      const reply = await expectRefused(manager(), 421, () =>
        sendRaw(manager(), { method, path, headers: { host } }),
      );
      expect(reply.headers['content-type'], path).toBe('text/plain; charset=utf-8');
      expect(reply.text).toMatch(/^This host name is not served .* ALLOWED_HOSTS\.\n$/);
    }
    for (const path of ['/healthz', '/readyz']) expect(await statusAt(host, path), path).toBe(200);
  });

  it('with authentication, any name is served', async () => {
    const other = await startManager({ files: SMALL_FLEET, settings: { ALLOWED_HOSTS: 'lab' } });
    const reply = await sendRaw(other, { path: INFO, headers: { host: 'evil.example' } });
    expect(reply.status).toBe(200);
  });
});
