import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AT, app, appId, appStep, CONTEXT, pass } from '../contract/support.ts';
import { openAt, openInTemporaryFolder, type SqlitePlace } from '../sqlite-place.ts';

const GONE = { kind: 'unavailable', message: expect.stringMatching(/deleted or replaced.*restart/) };

let place: SqlitePlace;
let aside: string;
beforeEach(async () => {
  place = await openInTemporaryFolder();
  aside = `${dirname(place.path)}-aside`;
  await pass(place.store, [appStep('web', app('nginx'))], 'r1');
});
afterEach(async () => {
  await place.cleanup();
  await rm(aside, { recursive: true, force: true });
});

/** Nothing more is written where the next start does not find it, and whoever asks whether the store is there learns of it. */
async function expectRefused(): Promise<void> {
  const { store } = place;
  const report = { hostname: 'h', device_group: 'g', report_creation_time: 1 };
  await expect(store.restartApp('web', CONTEXT)).rejects.toMatchObject(GONE);
  await expect(store.claimHead(1, 'r2', AT)).rejects.toMatchObject(GONE);
  await expect(store.insertReports([report], AT)).rejects.toMatchObject(GONE);
  await expect(store.state()).rejects.toMatchObject(GONE);
  await expect(store.ping()).rejects.toMatchObject(GONE);
  // What was there is right as long as nothing can change it.
  expect(await appId(store, 'web')).toBe(1);
}

describe('a store whose file goes away while it is open', () => {
  it('refuses to write into a file that was deleted', async () => {
    await rm(place.path);
    await expectRefused();
  });

  it('refuses to write when its whole folder is gone', async () => {
    await rm(dirname(place.path), { recursive: true });
    await expectRefused();
    await mkdir(dirname(place.path));
  });

  it('refuses to write into a file that another one took the place of', async () => {
    await copyFile(place.path, `${place.path}.copy`);
    await rename(`${place.path}.copy`, place.path);
    await expectRefused();
  });

  it('refuses to write into a log that was deleted', async () => {
    await rm(`${place.path}-wal`);
    await expectRefused();
  });

  it('goes on when its folder is brought back', async () => {
    await rename(dirname(place.path), aside);
    await expectRefused();
    await rename(aside, dirname(place.path));
    expect((await place.store.restartApp('web', CONTEXT))?.value.appId).toBe(2);
    expect((await place.store.state()).applied?.revision).toBe('r1');
  });

  it('leaves the file that took its place alone when it is closed', async () => {
    const folder = dirname(place.path);
    await rename(folder, aside);
    await mkdir(folder);
    const other = await openAt(place.path);
    await pass(other, [appStep('web', app('caddy'))], 'r2');
    await place.store.close();
    expect((await other.restartApp('web', CONTEXT))?.value.appId).toBe(2);
    await other.close();
    const again = await openAt(join(folder, 'store.db'));
    expect(await appId(again, 'web')).toBe(2);
    await again.close();
  });
});
