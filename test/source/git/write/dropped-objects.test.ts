import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryAt } from '../../../support/git.ts';
import { startManager } from '../../../support/manager.ts';
import { startFollower, testOrigin } from '../../../support/origin.ts';

const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';
const FILES = { 'apps/web.yaml': 'container_image: web:1\n', 'apps/cron.yaml': 'container_image: cron:1\n' };
const NEW = 'container_image: web:2\n';

/** Starts a manager; `lender` is the repository whose objects commits are made with, and `published` the branch. */
const KINDS = {
  'a clone': async () => {
    const manager = await startManager({ files: FILES });
    return { manager, lender: manager.repository, published: () => manager.repository.show(FILE) };
  },
  'a mirror': async () => {
    const origin = await testOrigin(FILES);
    const manager = await startFollower(origin);
    const lender = repositoryAt(join(manager.dataFolder, 'mirror.git'));
    return { manager, lender, published: () => origin.bare.show(FILE, 'main') };
  },
} as const;

it.each(Object.entries(KINDS))(
  'a write succeeds although a cleanup of %s dropped the blob of its file, which fast-import has seen in a pack',
  async (_, start) => {
    const { manager, lender, published } = await start();
    const text = join(manager.dataFolder, 'new');
    await writeFile(text, NEW);
    // The blob is in no commit, but in a pack that the writer's fast-import reads.
    const blob = await lender.git('hash-object', '-w', text);
    await lender.git('update-ref', 'refs/holdfast/test', blob);
    await lender.git('repack', '-a', '-d', '--quiet');
    await lender.git('update-ref', '-d', 'refs/holdfast/test');
    expect((await manager.put('/api/v2/apps/cron/update', { privileged: true })).status).toBe(202);

    await lender.git('reflog', 'expire', '--expire=now', '--all');
    await lender.git('repack', '-a', '-d', '--quiet');
    await lender.git('prune', '--expire=now');
    await expect(lender.git('cat-file', '-e', blob)).rejects.toThrow();
    const reply = await manager.put(`${WEB}/update`, { container_image: 'web:2' });
    expect([reply.status, reply.body.error]).toEqual([202, undefined]);
    expect(await published()).toBe(NEW);
    expect(await lender.git('cat-file', 'blob', blob)).toBe(NEW.trim());
  },
);
