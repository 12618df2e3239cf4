import { describe, expect, it } from 'vitest';
import { isShutdownError } from '../../src/errors.ts';
import { openRemote } from '../../src/source/git/mirror/remote.ts';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { remoteOptions, startFollower, testOrigin } from '../support/origin.ts';
import { SILENCE, serveSsh } from '../support/ssh-origin.ts';

describe('a transfer that the shutdown of the manager ends', () => {
  it('is not logged as a problem of origin', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    await ssh.behave(SILENCE);
    const stop = new AbortController();
    const started = startFollower({ ...origin, url: ssh.url }, { path: ssh.path, stopping: stop.signal });
    await expect.poll(ssh.fetches).toBe(1);
    stop.abort();
    const manager = await started;
    await manager.stop();
    expect(manager.log.filter(({ level }) => Number(level) > 30)).toEqual([]);
  });

  it('rejects because the manager is shutting down, and is not counted', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    await ssh.behave(SILENCE);
    const outcomes: string[] = [];
    const source = await openRemote({
      ...remoteOptions(ssh.url, await temporaryFolder(), ssh.path),
      onTransfer: (kind, outcome) => void outcomes.push(`${kind} ${outcome}`),
    });
    const refreshed = expect(source.origin.refresh()).rejects.toThrow(/^the manager is shutting down$/);
    await expect.poll(ssh.fetches).toBe(1);
    source.origin.interrupt();
    await refreshed;
    await source.close();
    await expect(source.origin.refresh()).rejects.toSatisfy(isShutdownError);
    expect(outcomes).toEqual([]);
  });

  it('can be a push of the record of ids: it is ended, and so is a fetch that waits for it', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    const source = await openRemote(remoteOptions(ssh.url, await temporaryFolder(), ssh.path));
    await source.origin.refresh();
    await ssh.behave(SILENCE);
    const before = (await ssh.calls()).length;
    const files = new Map([['meta.json', '{}']]);
    await source.record.write({ files, base: null, continues: false, writer: '', at: 0 });
    const ended = expect(source.record.publish()).rejects.toSatisfy(isShutdownError);
    await expect.poll(async () => (await ssh.calls()).length).toBe(before + 1);
    const refreshed = expect(source.origin.refresh()).rejects.toSatisfy(isShutdownError);
    source.origin.abandon();
    await Promise.all([ended, refreshed]);
    await source.close();
  });
});
