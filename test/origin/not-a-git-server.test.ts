import { describe, expect, it } from 'vitest';
import { HAS_OPENSSL, serveHttps } from '../support/https-origin.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const NO_SERVER = /^GIT_REMOTE does not respond like a git server; check the address/;

interface Answer {
  status: number;
  text: string;
  type?: string;
  /** What the manager reports. */
  message: RegExp;
}

/** What a proxy or a server at a mistyped address answers. */
const ANSWERS: [name: string, answer: Answer][] = [
  ['a page of one line', { status: 200, text: '<html>Sign in</html>', message: NO_SERVER }],
  [
    'a page of several lines',
    { status: 200, text: '<html>\nSign in\n</html>\n', message: /info\/refs not valid/ },
  ],
  ['an empty page', { status: 200, text: '', message: NO_SERVER }],
  [
    'the content type of git without its packets',
    {
      status: 200,
      text: 'zzzz',
      message: /protocol error: bad line length character: zzzz$/,
      type: 'application/x-git-upload-pack-advertisement',
    },
  ],
  [
    'HTTP status 503',
    {
      status: 503,
      text: '',
      message: /The requested URL returned error: 503$/,
    },
  ],
  [
    'HTTP status 429',
    {
      status: 429,
      text: '',
      message: /The requested URL returned error: 429$/,
    },
  ],
];

/** Origin over https; while `state.answer` is set, that is sent instead of what git answers. */
async function originBehind(answer: Answer | null) {
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

describe.skipIf(!HAS_OPENSSL)('an address that does not answer like a git server', () => {
  it.each(ANSWERS)('but with %s: a first start reports that and serves no empty fleet', async (_, answer) => {
    const { state, follow } = await originBehind(answer);
    const manager = await follow();
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({
      state: 'failing',
      error: { kind: 'unavailable', message: expect.stringMatching(answer.message) },
    });
    expect((await manager.get('/api/v2/apps')).status).toBe(503);
    expect((await manager.get('/api/v2/device_groups/edge/info')).status).toBe(503);
    state.answer = null;
    expect((await manager.reconcile()).body).toMatchObject({ state: 'applied', error: null });
    expect((await manager.get('/api/v2/apps')).status).toBe(200);
  });

  it.each(ANSWERS.slice(0, 2))(
    'but with %s, after a successful start: the status reports that, not a deleted branch',
    async (_, answer) => {
      const { state, follow } = await originBehind(null);
      const manager = await follow();
      expect((await manager.reconcile()).body.state).toBe('applied');
      state.answer = answer;
      expect((await manager.reconcile()).body.error.message).toMatch(answer.message);
      state.answer = null;
      expect((await manager.put('/api/v2/apps/web/update', { container_image: 'back:1' })).status).toBe(202);
    },
  );
});

it.skipIf(!HAS_OPENSSL)(
  'a git server that has no branch yet is not mistaken for such an address: the first write makes the branch',
  async () => {
    const { origin, follow } = await originBehind(null);
    await origin.bare.git('update-ref', '-d', 'refs/heads/main');
    const manager = await follow();
    expect((await manager.post('/api/v2/apps/new', { container_image: 'a:1' })).status).toBe(200);
    expect(await origin.bare.show('desired-state/apps/new.yaml', 'main')).toContain('a:1');
  },
);
