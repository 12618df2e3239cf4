import { describe, expect, it } from 'vitest';
import { HAS_OPENSSL, serveHttps } from '../support/https-origin.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const NO_SERVER =
  'GIT_REMOTE does not respond like a git server; check the address, and any proxy in front of it';

/** What stands before a forge, or at a mistyped address, and says about it. */
const ANSWERS = [
  { name: 'a page of one line', status: 200, text: '<html>Sign in</html>', says: NO_SERVER },
  { name: 'a page of several lines', status: 200, text: '<html>\nSign in\n</html>\n', says: NO_SERVER },
  { name: 'nothing', status: 200, text: '', says: NO_SERVER },
  {
    name: 'no packets of git',
    status: 200,
    text: 'zzzz',
    says: NO_SERVER,
    type: 'application/x-git-upload-pack-advertisement',
  },
  {
    name: 'that it is not there for the moment',
    status: 503,
    text: '',
    says: 'origin responded with HTTP status 503',
  },
  {
    name: 'that it is asked too often',
    status: 429,
    text: '',
    says: 'origin limits the rate of requests (HTTP status 429); raise GIT_POLL_INTERVAL',
  },
];

/** Origin over https, before which something answers while `state.answer` is set. */
async function originBehind(answer: (typeof ANSWERS)[number] | null) {
  const origin = await testOrigin(SMALL_FLEET);
  const state = { answer };
  const { url, caFile } = await serveHttps(origin.url, 'git:token', (response) => {
    if (state.answer === null) return false;
    const { status, text, type = 'text/html' } = state.answer;
    response.writeHead(status, { 'content-type': type }).end(text);
    return true;
  });
  const settings = { GIT_TOKEN: 'token', GIT_CA_FILE: caFile };
  return { origin, state, follow: () => startFollower({ ...origin, url }, { settings }) };
}

describe.skipIf(!HAS_OPENSSL)('what is no git server', () => {
  it.each(ANSWERS)('and says $name, at a first start: no fleet of nothing is served', async (answer) => {
    const { state, follow } = await originBehind(answer);
    const manager = await follow();
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({ state: 'failing', error: { kind: 'unavailable', message: answer.says } });
    expect((await manager.get('/api/v2/apps')).status).toBe(503);
    expect((await manager.get('/api/v2/device_groups/edge/info')).status).toBe(503);
    state.answer = null;
    expect((await manager.reconcile()).body).toMatchObject({ state: 'applied', error: null });
    expect((await manager.get('/api/v2/apps')).status).toBe(200);
  });

  it.each(ANSWERS.slice(0, 2))(
    'and says $name, later: it is not taken for a branch that is gone',
    async (answer) => {
      const { state, follow } = await originBehind(null);
      const manager = await follow();
      expect((await manager.reconcile()).body.state).toBe('applied');
      state.answer = answer;
      expect((await manager.reconcile()).body.error.message).toBe(answer.says);
      state.answer = null;
      expect((await manager.put('/api/v2/apps/web/update', { container_image: 'back:1' })).status).toBe(202);
    },
  );

  it('is not what has no branch yet: the first write makes it', async () => {
    const { origin, follow } = await originBehind(null);
    await origin.bare.git('update-ref', '-d', 'refs/heads/main');
    const manager = await follow();
    expect((await manager.post('/api/v2/apps/new', { container_image: 'a:1' })).status).toBe(200);
    expect(await origin.bare.show('desired-state/apps/new.yaml', 'main')).toContain('a:1');
  });
});
