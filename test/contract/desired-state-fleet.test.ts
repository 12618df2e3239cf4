import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { commitCount, expectRefused, lastCommit, recordsOf } from '../support/manager-state.ts';
import { groupRecord, REASON } from './expected.ts';

const EDGE = '/api/v2/device_groups/edge';
const EVERYTHING = { 'apps/web.yaml': null, 'apps/cron.yaml': null, 'device-groups/edge.yaml': null };

/** Commits files below the folder and waits until the manager has looked. */
async function push(manager: TestManager, files: Record<string, string | null>, message?: string) {
  const revision = await manager.repository.commit(inDesiredState(files), message);
  const { body } = await manager.reconcile();
  return { revision, body, files: body.problems.map(({ file }: { file: string }) => file) as string[] };
}

/** Apps and groups with all their ids. */
async function fleetOf(manager: TestManager) {
  const { apps, groups } = await recordsOf(manager);
  return { apps, groups };
}

describe('decisions.md: Desired-state files: groups and their apps', () => {
  it("A group that names an app which does not exist: a problem of the group's file; it keeps its last good content", async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await fleetOf(manager);
    const { body } = await push(manager, { 'device-groups/edge.yaml': 'apps:\n  - cron\n  - nope\n' });
    expect(body.problems).toMatchObject([
      { file: 'device-groups/edge.yaml', line: 3, code: REASON, message: expect.stringContaining('nope') },
    ]);
    expect(await fleetOf(manager)).toEqual(before);
    const { body: after, files } = await push(manager, { 'apps/nope.yaml': 'container_image: a\n' });
    expect(files).toEqual([]);
    expect(after.revision_applied).toBe(await manager.repository.git('rev-parse', 'HEAD'));
    expect((await manager.get(EDGE)).body.apps).toEqual(['cron', 'nope']);
  });

  it('a new group that names an app which does not exist: a problem, and no group', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { files } = await push(manager, {
      'device-groups/new.yaml': 'apps: [web, nope]\n',
      'apps/x.yaml': 'container_image: x\n',
    });
    expect(files).toEqual(['device-groups/new.yaml']);
    expect((await manager.get('/api/v2/device_groups/new')).body).toEqual({ device_group_exists: false });
    // JSON without `apps` is the end for a worker, and the group may only wait for its mending.
    const info = await manager.get('/api/v2/device_groups/new/info');
    expect([info.status, info.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect((await manager.get('/api/v2/apps/x')).status).toBe(200);
  });

  it("An app removed while a group still lists it: a problem of the group's file; the app stays until no group lists it", async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await fleetOf(manager);
    expect((await push(manager, { 'apps/web.yaml': null })).files).toEqual(['device-groups/edge.yaml']);
    expect(await fleetOf(manager)).toEqual(before);
    expect((await manager.get(`${EDGE}/info`)).body.apps).toHaveLength(2);
    expect((await push(manager, { 'device-groups/edge.yaml': 'apps: [cron]\n' })).files).toEqual([]);
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['cron'] });
  });

  it('an app that is removed together with its name in every group goes', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: before } = await manager.get(EDGE);
    const { files } = await push(manager, {
      'apps/web.yaml': null,
      'device-groups/edge.yaml': 'apps: [cron]\n',
    });
    expect(files).toEqual([]);
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

  it('a file that moves to another sub-folder changes nothing', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await fleetOf(manager);
    await push(manager, { 'apps/web.yaml': null, 'apps/shop/web.yml': SMALL_FLEET['apps/web.yaml'] });
    expect(await fleetOf(manager)).toEqual(before);
    await manager.post('/api/v2/apps/web/stop');
    expect((await lastCommit(manager.repository)).files).toEqual(['M desired-state/apps/shop/web.yml']);
  });
});

describe('decisions.md: Desired-state files: The folder missing or empty at a revision where it had objects before', () => {
  it.each([
    ['every file deleted', EVERYTHING],
    ['only other files left', { ...EVERYTHING, 'README.md': 'x\n' }],
    ['the folder moved', { ...EVERYTHING, '../moved/apps/web.yaml': 'container_image: a\n' }],
  ])('refused whole: nothing is deleted, status says why: %s', async (_, files) => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await fleetOf(manager);
    const applied = await manager.repository.git('rev-parse', 'HEAD');
    const { body, revision } = await push(manager, files);
    expect(body).toMatchObject({
      revision_attempted: revision,
      revision_applied: applied,
      error: { message: REASON },
    });
    expect(await fleetOf(manager)).toEqual(before);
    expect((await manager.get(`${EDGE}/info`)).body.apps).toHaveLength(2);
    const next = await manager.restart();
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      revision_attempted: revision,
      revision_applied: applied,
    });
    expect(await fleetOf(next)).toEqual(before);
    expect((await next.get('/readyz')).status).toBe(200);
    const back = await push(next, { ...SMALL_FLEET, 'apps/new.yaml': 'container_image: a\n' });
    expect(back.body).toMatchObject({ revision_applied: back.revision, error: null });
    expect((await fleetOf(next)).apps).toMatchObject(before.apps);
  });

  it.each(['Allow-Empty: true', 'allow-empty: true'])(
    'carries the trailer %s: everything is deleted',
    async (trailer) => {
      const manager = await startManager({ files: SMALL_FLEET });
      const { body, revision } = await push(
        manager,
        EVERYTHING,
        `Close the shop\n\nFor good.\n\n${trailer}\n`,
      );
      expect(body).toMatchObject({ revision_applied: revision, error: null, problems: [] });
      expect(await fleetOf(manager)).toEqual({ apps: {}, groups: {} });
    },
  );

  it.each([
    'Allow-Empty: false',
    'Allow-Empty: true, please',
    'Do not Allow-Empty: true',
    'Allow-Empty: true\n\nis what this is not.',
  ])('a message that says something else is no trailer: %s', async (line) => {
    const manager = await startManager({ files: SMALL_FLEET });
    await push(manager, EVERYTHING, `Close the shop\n\n${line}\n`);
    expect((await manager.get('/api/v2/apps')).body.apps).toHaveLength(2);
  });

  it('a subject is no trailer, whatever it says', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await push(manager, EVERYTHING, 'Allow-Empty: true');
    expect((await manager.get('/api/v2/apps')).body.apps).toHaveLength(2);
  });

  it('a folder that was always empty is no reason to refuse', async () => {
    const manager = await startManager({ files: { 'README.md': 'x\n' } });
    const { body } = await manager.get('/api/v2/reconcile');
    expect(body).toMatchObject({
      revision_applied: await manager.repository.git('rev-parse', 'HEAD'),
      error: null,
    });
    expect((await manager.get('/readyz')).status).toBe(200);
  });

  it.each([
    ['goes as a whole', { 'README.md': null }],
    ['gets a folder that looks like another one', { 'fleet/apps/web.yaml': 'container_image: a\n' }],
  ])('nor is one that %s, once it was followed', async (_, files) => {
    const manager = await startManager({ files: { 'README.md': 'x\n' } });
    const { body, revision } = await push(manager, files);
    expect(body).toMatchObject({ revision_applied: revision, error: null });
  });

  it('the trailer counts in the commit that emptied the folder, whatever came on top of it', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    await manager.repository.commit(inDesiredState(EVERYTHING), 'Close the shop\n\nAllow-Empty: true\n');
    await manager.repository.commit({ 'notes.txt': 'closed\n' });
    expect(await fleetOf(await manager.restart())).toEqual({ apps: {}, groups: {} });
  });

  it('it counts in the head as well, where the folder was emptied without it', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await push(manager, EVERYTHING);
    expect((await fleetOf(manager)).apps).not.toEqual({});
    await manager.repository.commit({ 'notes.txt': 'closed\n' }, 'It was meant\n\nAllow-Empty: true\n');
    expect((await manager.reconcile()).body.error).toBeNull();
    expect(await fleetOf(manager)).toEqual({ apps: {}, groups: {} });
  });

  it('the last object is deleted through the API: the commit carries the trailer Allow-Empty: true', async () => {
    const manager = await startManager({ files: { 'apps/web.yaml': 'container_image: a\n' } });
    expect((await manager.delete('/api/v2/apps/web')).status).toBe(200);
    expect((await lastCommit(manager.repository)).trailers).toContain('Allow-Empty: true');
    expect(await fleetOf(manager)).toEqual({ apps: {}, groups: {} });
    const next = await manager.restart();
    expect((await next.get('/api/v2/reconcile')).body.error).toBeNull();
    expect((await next.post('/api/v2/apps/web', { container_image: 'b' })).status).toBe(200);
    expect((await lastCommit(next.repository)).trailers).not.toContain('Allow-Empty: true');
  });
});

describe('decisions.md: Desired-state files: A rewritten history (force-push)', () => {
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

describe('decisions.md: Settings and command line: STRICT', () => {
  const settings = { STRICT: 'true' };

  it('a commit with any invalid file is refused whole', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings });
    const before = await fleetOf(manager);
    const applied = await manager.repository.git('rev-parse', 'HEAD');
    const { body, revision, files } = await push(manager, {
      'apps/web.yaml': '[',
      'apps/new.yaml': 'container_image: a\n',
      'apps/cron.yaml': 'container_image: cron:4\n',
    });
    expect(body).toMatchObject({ revision_attempted: revision, revision_applied: applied });
    expect(files).toEqual(['apps/web.yaml']);
    expect(await fleetOf(manager)).toEqual(before);
    const mended = await push(manager, { 'apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
    expect(mended.body).toMatchObject({ revision_applied: mended.revision, error: null, problems: [] });
    expect((await manager.get('/api/v2/apps/cron')).body.container_image).toBe('cron:4');
    expect((await manager.get('/api/v2/apps/new')).status).toBe(200);
  });

  it('a commit whose group names an unknown app is refused whole', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings });
    const before = await fleetOf(manager);
    await push(manager, {
      'device-groups/edge.yaml': 'apps: [nope]\n',
      'apps/new.yaml': 'container_image: a\n',
    });
    expect(await fleetOf(manager)).toEqual(before);
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

  it('a write on a revision that is refused: 409, nothing changed anywhere; reads go on', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings });
    await push(manager, { 'apps/web.yaml': '[' });
    const commits = await commitCount(manager.repository);
    await expectRefused(manager, 409, () => manager.put('/api/v2/apps/cron/update', { privileged: true }));
    expect(await commitCount(manager.repository)).toBe(commits);
    expect((await manager.get(EDGE)).body).toEqual(groupRecord('edge', ['web', 'cron']));
    expect((await manager.post('/api/v2/apps/cron/restart')).status).toBe(409);
    expect((await manager.post('/api/v2/apps/web/restart')).status).toBe(202);
  });

  it('a first start on a revision that is refused applies nothing, and is not ready', async () => {
    const manager = await startManager({ files: { ...SMALL_FLEET, 'apps/bad.yaml': '[' }, settings });
    expect((await manager.get('/api/v2/apps')).status).toBe(503);
    expect((await manager.get('/readyz')).status).toBe(503);
    const reply = await manager.get(`${EDGE}/info`);
    expect(reply.status).toBe(503);
    expect(reply.headers.get('content-type')).toMatch(/^text\/plain\b/);
  });
});
