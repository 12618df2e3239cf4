import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AT, app, appId, appStep, CONTEXT, pass } from '../contract/support.ts';
import { type OpenedSqliteStore, openAt, openInTemporaryFolder } from '../open-sqlite.ts';

const GONE = { kind: 'unavailable', message: expect.stringMatching(/deleted or replaced.*restart/) };

let opened: OpenedSqliteStore;
let aside: string;
beforeEach(async () => {
  opened = await openInTemporaryFolder();
  aside = `${dirname(opened.path)}-aside`;
  await pass(opened.store, [appStep('web', app('nginx'))], 'r1');
});
afterEach(async () => {
  await opened.cleanup();
  await rm(aside, { recursive: true, force: true });
});

/** Checks that every write is refused, since the next start would not find it, and that `state` and `ping` fail, too. */
async function expectRefused(): Promise<void> {
  const { store } = opened;
  const report = { hostname: 'h', device_group: 'g', report_creation_time: 1 };
  await expect(store.restartApp('web', CONTEXT)).rejects.toMatchObject(GONE);
  await expect(store.claimHead(1, 'r2', AT)).rejects.toMatchObject(GONE);
  await expect(store.insertReports([report], AT)).rejects.toMatchObject(GONE);
  await expect(store.state()).rejects.toMatchObject(GONE);
  await expect(store.ping()).rejects.toMatchObject(GONE);
  // Reads of objects still succeed: since no write is accepted, what they return stays correct.
  expect(await appId(store, 'web')).toBe(1);
}

describe('an open SQLite store', () => {
  it('refuses writes after its file was deleted', async () => {
    await rm(opened.path);
    await expectRefused();
  });

  it('refuses writes after its folder was deleted', async () => {
    await rm(dirname(opened.path), { recursive: true });
    await expectRefused();
    await mkdir(dirname(opened.path));
  });

  it('refuses writes after its file was replaced', async () => {
    await copyFile(opened.path, `${opened.path}.copy`);
    await rename(`${opened.path}.copy`, opened.path);
    await expectRefused();
  });

  it('refuses writes after its write-ahead log was deleted', async () => {
    await rm(`${opened.path}-wal`);
    await expectRefused();
  });

  it('works again after its folder was moved away and back', async () => {
    await rename(dirname(opened.path), aside);
    await expectRefused();
    await rename(aside, dirname(opened.path));
    expect((await opened.store.restartApp('web', CONTEXT))?.value.appId).toBe(2);
    expect((await opened.store.state()).applied?.revision).toBe('r1');
  });

  it('does not change the file that replaced its own when it is closed', async () => {
    const folder = dirname(opened.path);
    await rename(folder, aside);
    await mkdir(folder);
    const other = await openAt(opened.path);
    await pass(other, [appStep('web', app('caddy'))], 'r2');
    await opened.store.close();
    expect((await other.restartApp('web', CONTEXT))?.value.appId).toBe(2);
    await other.close();
    const again = await openAt(join(folder, 'store.db'));
    expect(await appId(again, 'web')).toBe(2);
    await again.close();
  });
});
