import { rm, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { REMOTE_RECORD } from '../support/record-files.ts';
import { HAS_REFTABLE, REFTABLE } from '../support/reftable.ts';

const WEB = '/api/v2/apps/web';

/** Options of `git init` for an origin. They are always given, since the defaults depend on the version of git. */
const FORMATS: [name: string, options: string[]][] = [
  ['sha1, refs in files', ['--object-format=sha1']],
  ['sha256', ['--object-format=sha256']],
  ['sha1, reftable', ['--object-format=sha1', REFTABLE]],
  ['sha256, reftable', ['--object-format=sha256', REFTABLE]],
];
const POSSIBLE = FORMATS.filter(([, options]) => HAS_REFTABLE || !options.includes(REFTABLE));

it.each(POSSIBLE)(
  'an origin with %s is followed, written to, and read after a restart',
  async (_, options) => {
    const origin = await originWith(options, SMALL_FLEET);
    const manager = await startFollower(origin);
    await expectWorking(origin, manager);
    const id = await origin.push({ 'desired-state/apps/web.yaml': 'container_image: pushed:1\n' });
    await manager.reconcile();
    const next = await manager.restart({});
    expect((await next.get(WEB)).body.container_image).toBe('pushed:1');
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      error: null,
      revision_applied: id,
    });
  },
);

it.each(POSSIBLE)('an empty origin with %s gets its first commit from a write', async (_, options) => {
  const origin = await originWith(options);
  const manager = await startFollower(origin);
  const created = await manager.post(WEB, { container_image: 'a' });
  expect(created.status, JSON.stringify(created.body)).toBeLessThan(300);
  expect(await origin.bare.git('show', 'main:desired-state/apps/web.yaml')).toContain('container_image: a');
});

it.skipIf(!HAS_REFTABLE)(
  'a write to an origin with reftable gets 409 with the name of a stale lock',
  async () => {
    const origin = await originWith([REFTABLE], SMALL_FLEET);
    const manager = await startFollower(origin);
    const lock = `${origin.url}/reftable/tables.list.lock`;
    await writeFile(lock, '');
    const reply = await manager.put(`${WEB}/update`, { container_image: 'a:1' });
    expect([reply.status, reply.body.error]).toEqual([
      409,
      expect.stringContaining('remove reftable/tables'),
    ]);
    await rm(lock);
    expect((await manager.put(`${WEB}/update`, { container_image: 'a:2' })).status).toBe(202);
  },
);

it.each([
  ['sha1', 'sha256'],
  ['sha256', 'sha1'],
])('an origin that changed from %s to %s is still followed, and ids rise', async (from, to) => {
  const origin = await originWith([`--object-format=${from}`], SMALL_FLEET);
  const manager = await startFollower(origin);
  const before = (await manager.get(WEB)).body.app_id;
  await replaceOrigin(origin, [`--object-format=${to}`]);
  await origin.push({
    ...inDesiredState(SMALL_FLEET),
    'desired-state/apps/web.yaml': 'container_image: replaced:1\n',
  });
  await manager.reconcile();
  expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ error: null });
  expect((await manager.get(WEB)).body).toMatchObject({ container_image: 'replaced:1' });
  expect((await manager.get(WEB)).body.app_id).toBeGreaterThan(before);
  await expectWorking(origin, manager);
});

async function expectWorking(origin: TestOrigin, manager: TestManager): Promise<void> {
  const changed = await manager.put(`${WEB}/update`, { container_image: 'written:1' });
  expect(changed.status, JSON.stringify(changed.body)).toBe(202);
  expect(await origin.bare.git('show', 'main:desired-state/apps/web.yaml')).toContain('written:1');
  expect(await origin.bare.git('for-each-ref', REMOTE_RECORD)).toContain('commit');
  expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({
    state: 'applied',
    error: null,
    ids_record: { problem: null },
  });
}

async function originWith(
  options: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<TestOrigin> {
  const origin = await testOrigin();
  await replaceOrigin(origin, options);
  if (Object.keys(files).length > 0) await origin.push(inDesiredState(files));
  return origin;
}

/** Makes new, empty repositories in the place of the bare one and of the user's clone. */
async function replaceOrigin({ url, bare, user }: TestOrigin, options: readonly string[]): Promise<void> {
  await rm(url, { recursive: true });
  await rm(`${user.folder}/.git`, { recursive: true });
  await user.git('init', '--quiet', '--initial-branch=main', ...options);
  await user.git('init', '--quiet', '--bare', '--initial-branch=main', ...options, url);
  await user.git('remote', 'add', 'origin', bare.folder);
}
