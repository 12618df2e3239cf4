import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { copyData, loseStore, restoreCopy } from '../support/lost-store.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { expectRefused, lastCommit, recordsOf } from '../support/manager-state.ts';
import { groupRecord, REASON } from './expected.ts';
import { push } from './push.ts';

const EDGE = '/api/v2/device_groups/edge';
const ALL_DELETED = { 'apps/web.yaml': null, 'apps/cron.yaml': null, 'device-groups/edge.yaml': null };

describe('docs/contract.md, 11.2: groups and their apps', () => {
  it("A group that names an app which does not exist: a problem of the group's file; it keeps its last good content", async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await recordsOf(manager);
    const { body } = await push(manager, { 'device-groups/edge.yaml': 'apps:\n  - cron\n  - nope\n' });
    expect(body.problems).toMatchObject([
      { file: 'device-groups/edge.yaml', line: 3, code: REASON, message: expect.stringContaining('nope') },
    ]);
    expect(await recordsOf(manager)).toEqual(before);
    const { body: after, problemFiles } = await push(manager, {
      'apps/nope.yaml': 'container_image: a\n',
    });
    expect(problemFiles).toEqual([]);
    expect(after.revision_applied).toBe(await manager.repository.git('rev-parse', 'HEAD'));
    expect((await manager.get(EDGE)).body.apps).toEqual(['cron', 'nope']);
  });

  it("a new group that names an app which does not exist: a problem of the group's file, and the group is not created", async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { problemFiles } = await push(manager, {
      'device-groups/new.yaml': 'apps: [web, nope]\n',
      'apps/x.yaml': 'container_image: x\n',
    });
    expect(problemFiles).toEqual(['device-groups/new.yaml']);
    expect((await manager.get('/api/v2/device_groups/new')).body).toEqual({ device_group_exists: false });
    // Workers take JSON without `apps` as the order to stop their containers; this group may only wait for a fix.
    const info = await manager.get('/api/v2/device_groups/new/info');
    expect([info.status, info.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect((await manager.get('/api/v2/apps/x')).status).toBe(200);
  });

  it("An app removed while a group still lists it: a problem of the group's file; the app stays until no group lists it", async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await recordsOf(manager);
    expect((await push(manager, { 'apps/web.yaml': null })).problemFiles).toEqual([
      'device-groups/edge.yaml',
    ]);
    expect(await recordsOf(manager)).toEqual(before);
    expect((await manager.get(`${EDGE}/info`)).body.apps).toHaveLength(2);
    expect((await push(manager, { 'device-groups/edge.yaml': 'apps: [cron]\n' })).problems).toEqual([]);
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['cron'] });
  });

  it('an app that is removed together with its name in every group is deleted', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: before } = await manager.get(EDGE);
    const { problems } = await push(manager, {
      'apps/web.yaml': null,
      'device-groups/edge.yaml': 'apps: [cron]\n',
    });
    expect(problems).toEqual([]);
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['cron'] });
    expect((await manager.get(EDGE)).body).toEqual({
      ...before,
      apps: ['cron'],
      device_group_id: before.device_group_id + 1,
    });
  });

  it('A file that is gone: the object is deleted', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await push(manager, { 'device-groups/edge.yaml': null });
    expect((await manager.get('/api/v2/device_groups')).body).toEqual({ device_groups: [] });
    await push(manager, { 'apps/cron.yaml': null });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['web'] });
  });

  it('a file that moves to another sub-folder changes no object, and later writes edit it there', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await recordsOf(manager);
    await push(manager, { 'apps/web.yaml': null, 'apps/shop/web.yml': SMALL_FLEET['apps/web.yaml'] });
    expect(await recordsOf(manager)).toEqual(before);
    await manager.post('/api/v2/apps/web/stop');
    expect((await lastCommit(manager.repository)).files).toEqual(['M desired-state/apps/shop/web.yml']);
  });
});

describe('docs/contract.md, 11.3: The folder missing or empty at a revision where it had objects before', () => {
  it.each([
    ['every file deleted', ALL_DELETED],
    ['only other files left', { ...ALL_DELETED, 'README.md': 'x\n' }],
    ['the folder moved', { ...ALL_DELETED, '../moved/apps/web.yaml': 'container_image: a\n' }],
  ])('refused whole: nothing is deleted, status says why: %s', async (_, files) => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await recordsOf(manager);
    const applied = await manager.repository.git('rev-parse', 'HEAD');
    const { body, revision } = await push(manager, files);
    expect(body).toMatchObject({
      revision_attempted: revision,
      revision_applied: applied,
      error: { message: REASON },
    });
    expect(await recordsOf(manager)).toEqual(before);
    expect((await manager.get(`${EDGE}/info`)).body.apps).toHaveLength(2);
    const next = await manager.restart();
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      revision_attempted: revision,
      revision_applied: applied,
    });
    expect(await recordsOf(next)).toEqual(before);
    expect((await next.get('/readyz')).status).toBe(200);
    const back = await push(next, { ...SMALL_FLEET, 'apps/new.yaml': 'container_image: a\n' });
    expect(back.body).toMatchObject({ revision_applied: back.revision, error: null });
    expect((await recordsOf(next)).apps).toMatchObject(before.apps);
  });

  it.each([
    ['its store was lost', (manager: TestManager) => loseStore(manager)],
    ['its store was replaced by an older copy', restoreCopy],
  ])('refused, and no device learns that its group is gone, after %s', async (_, lose) => {
    const first = await startManager({ files: SMALL_FLEET });
    await first.stop();
    const copy = await copyData(first);
    const manager = await first.restart();
    await manager.put('/api/v2/apps/web/update', { container_image: 'web:2' });
    await push(manager, { ...ALL_DELETED, 'README.md': 'x\n' });
    const next = await lose(manager, copy);
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'refused',
      revision_applied: null,
      error: { message: REASON },
    });
    const info = await next.get(`${EDGE}/info`);
    expect([info.status, info.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect((await next.get('/api/v2/status')).body).toEqual({ api_available: false });
    await next.repository.git('revert', '--no-edit', 'HEAD');
    await next.reconcile();
    expect((await next.get(`${EDGE}/info`)).body.apps).toHaveLength(2);
  });

  it.each(['Allow-Empty: true', 'allow-empty: true'])(
    'a commit that carries the trailer %s deletes every object',
    async (trailer) => {
      const manager = await startManager({ files: SMALL_FLEET });
      const { body, revision } = await push(
        manager,
        ALL_DELETED,
        `Close the shop\n\nFor good.\n\n${trailer}\n`,
      );
      expect(body).toMatchObject({ revision_applied: revision, error: null, problems: [] });
      expect(await recordsOf(manager)).toEqual({ apps: {}, groups: {} });
    },
  );

  it.each([
    ['another value of the trailer', 'Close the shop\n\nAllow-Empty: false\n'],
    ['a longer value of the trailer', 'Close the shop\n\nAllow-Empty: true, please\n'],
    ['text before the name of the trailer', 'Close the shop\n\nDo not Allow-Empty: true\n'],
    ['a paragraph after the trailer', 'Close the shop\n\nAllow-Empty: true\n\nis what this is not.\n'],
    ['the trailer as its subject', 'Allow-Empty: true'],
  ])('a commit is refused if its message has %s', async (_, message) => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body } = await push(manager, ALL_DELETED, message);
    expect(body.error).toMatchObject({ message: REASON });
    expect((await manager.get('/api/v2/apps')).body.apps).toHaveLength(2);
  });

  it('a first revision with a folder that never had an object is applied', async () => {
    const manager = await startManager({ files: { 'README.md': 'x\n' } });
    const { body } = await manager.get('/api/v2/reconcile');
    expect(body).toMatchObject({
      revision_applied: await manager.repository.git('rev-parse', 'HEAD'),
      error: null,
    });
    expect((await manager.get('/readyz')).status).toBe(200);
  });

  it.each([
    ['disappears', { 'README.md': null }],
    ['gets a sub-folder that looks like a desired state', { 'fleet/apps/web.yaml': 'container_image: a\n' }],
  ])('a commit in which a folder that never had an object %s is applied', async (_, files) => {
    const manager = await startManager({ files: { 'README.md': 'x\n' } });
    const { body, revision } = await push(manager, files);
    expect(body).toMatchObject({ revision_applied: revision, error: null });
  });

  it('every object is deleted if the commit that emptied the folder carries the trailer, and later ones do not', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    await manager.repository.commit(inDesiredState(ALL_DELETED), 'Close the shop\n\nAllow-Empty: true\n');
    await manager.repository.commit({ 'notes.txt': 'closed\n' });
    expect(await recordsOf(await manager.restart())).toEqual({ apps: {}, groups: {} });
  });

  it('every object is deleted if a commit carries the trailer after one that emptied the folder without it', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await push(manager, ALL_DELETED);
    expect((await recordsOf(manager)).apps).not.toEqual({});
    await manager.repository.commit({ 'notes.txt': 'closed\n' }, 'It was meant\n\nAllow-Empty: true\n');
    expect((await manager.reconcile()).body.error).toBeNull();
    expect(await recordsOf(manager)).toEqual({ apps: {}, groups: {} });
  });

  it('a delete of the last object through the API makes a commit that carries the trailer Allow-Empty: true', async () => {
    const manager = await startManager({ files: { 'apps/web.yaml': 'container_image: a\n' } });
    expect((await manager.delete('/api/v2/apps/web')).status).toBe(200);
    expect((await lastCommit(manager.repository)).trailers).toContain('Allow-Empty: true');
    expect(await recordsOf(manager)).toEqual({ apps: {}, groups: {} });
    const next = await manager.restart();
    expect((await next.get('/api/v2/reconcile')).body.error).toBeNull();
    expect((await next.post('/api/v2/apps/web', { container_image: 'b' })).status).toBe(200);
    expect((await lastCommit(next.repository)).trailers).not.toContain('Allow-Empty: true');
  });
});

describe('docs/contract.md, 11.3: A rewritten history (force-push)', () => {
  it('applied like any other revision; ids only rise; status and log say that history was rewritten', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: first } = await manager.get('/api/v2/apps/web');
    await push(manager, { 'apps/web.yaml': 'container_image: nginx:1.27\n' });
    const from = await manager.repository.git('rev-parse', 'HEAD');
    expect((await manager.get('/api/v2/reconcile')).body.history_rewritten ?? null).toBeNull();
    await manager.repository.git('reset', '--quiet', '--hard', 'HEAD~1');
    const to = await manager.repository.git('rev-parse', 'HEAD');
    const { body } = await manager.reconcile();
    expect(body.revision_applied).toBe(to);
    expect(JSON.stringify(body)).toContain(from);
    expect(JSON.stringify(body)).toMatch(/rewritten/);
    expect((await manager.get('/api/v2/apps/web')).body).toEqual({ ...first, app_id: first.app_id + 2 });
    expect(manager.log.some((line) => /rewritten/.test(JSON.stringify(line)))).toBe(true);
  });
});

describe('docs/contract.md, 11.3: STRICT', () => {
  const settings = { STRICT: 'true' };

  it('a commit with any invalid file is refused whole', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings });
    const before = await recordsOf(manager);
    const applied = await manager.repository.git('rev-parse', 'HEAD');
    const { body, revision, problemFiles } = await push(manager, {
      'apps/web.yaml': '[',
      'apps/new.yaml': 'container_image: a\n',
      'apps/cron.yaml': 'container_image: cron:4\n',
    });
    expect(body).toMatchObject({ revision_attempted: revision, revision_applied: applied });
    expect(problemFiles).toEqual(['apps/web.yaml']);
    expect(await recordsOf(manager)).toEqual(before);
    const repaired = await push(manager, { 'apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
    expect(repaired.body).toMatchObject({ revision_applied: repaired.revision, error: null, problems: [] });
    expect((await manager.get('/api/v2/apps/cron')).body.container_image).toBe('cron:4');
    expect((await manager.get('/api/v2/apps/new')).status).toBe(200);
  });

  it('a commit whose group names an unknown app is refused whole', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings });
    const before = await recordsOf(manager);
    const { problemFiles } = await push(manager, {
      'device-groups/edge.yaml': 'apps: [nope]\n',
      'apps/new.yaml': 'container_image: a\n',
    });
    expect(problemFiles).toEqual(['device-groups/edge.yaml']);
    expect(await recordsOf(manager)).toEqual(before);
  });

  it('A file that is gone: the object is deleted only when the whole commit is valid', async () => {
    const manager = await startManager({
      files: { ...SMALL_FLEET, 'apps/third.yaml': 'container_image: a\n' },
      settings,
    });
    await push(manager, { 'apps/third.yaml': null, 'apps/web.yaml': '[' });
    expect((await manager.get('/api/v2/apps/third')).status).toBe(200);
    await push(manager, { 'apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
    expect((await manager.get('/api/v2/apps/third')).body).toEqual({ app_exists: false });
  });

  it('while the head is refused, writes are 409 and change nothing, and reads and restarts without a commit succeed', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings });
    await push(manager, { 'apps/web.yaml': '[' });
    await expectRefused(manager, 409, () => manager.put('/api/v2/apps/cron/update', { privileged: true }));
    expect((await manager.get(EDGE)).body).toEqual(groupRecord('edge', ['web', 'cron']));
    expect((await manager.post('/api/v2/apps/cron/restart')).status).toBe(409);
    expect((await manager.post('/api/v2/apps/web/restart')).status).toBe(202);
  });
});
