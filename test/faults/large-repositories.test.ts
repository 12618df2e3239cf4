import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startProcessManager } from '../support/process-manager.ts';

/** Commits files without a work tree, as many and as large as a push can bring. */
async function importFiles(
  { folder }: TestRepository,
  files: Iterable<readonly [path: string, content: string | Buffer]>,
): Promise<void> {
  const child = spawn('git', ['fast-import', '--quiet', '--force'], {
    cwd: folder,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const write = async (text: string | Buffer): Promise<void> => {
    if (!child.stdin.write(text)) await once(child.stdin, 'drain');
  };
  await write('commit refs/heads/main\ncommitter Pat <pat@example.com> 1700000000 +0000\ndata 4\nlots\n');
  await write('from refs/heads/main^0\n');
  for (const [path, content] of files) {
    await write(`M 100644 inline ${path}\ndata ${Buffer.byteLength(content)}\n`);
    await write(content);
    await write('\n');
  }
  child.stdin.end();
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
}

async function place() {
  const repository = await testRepository();
  const files = Object.entries(SMALL_FLEET).map(([path, text]) => [`desired-state/${path}`, text]);
  await repository.commit(Object.fromEntries(files));
  return { repository, dataFolder: join(await temporaryFolder(), 'data') };
}

function* manyFiles(count: number): Iterable<readonly [string, string]> {
  for (let i = 0; i < count; i++) {
    yield [`elsewhere/${i % 1000}/file-${i}.txt`, `${i}\n`];
    if (i % 50 === 0) yield [`desired-state/apps/many/app-${i}.yaml`, `container_image: many:${i}\n`];
    if (i % 50 === 1) yield [`desired-state/apps/many/notes-${i}.txt`, 'not read\n'];
  }
}

describe('a repository that is large', () => {
  it('with 100,000 files: is served, changed, and started again', async () => {
    const where = await place();
    await importFiles(where.repository, manyFiles(100_000));
    const manager = await startProcessManager(where);
    await manager.request('POST', '/api/v2/reconcile');
    expect((await manager.request('GET', '/api/v2/apps')).body.apps).toHaveLength(2002);
    expect((await manager.request('PUT', '/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
    expect((await manager.request('DELETE', '/api/v2/apps/app-0')).status).toBe(200);
    await manager.stop();
    const next = await startProcessManager(where);
    expect((await next.request('GET', '/api/v2/apps/web')).body.privileged).toBe(true);
    const status = await next.request('POST', '/api/v2/reconcile');
    expect(status.body.problems).toHaveLength(2000);
    await next.stop();
  });

  it('with a file of 50 MB: a problem of that file, and it is never read', async () => {
    const where = await place();
    const size = 50 * 1024 * 1024;
    await importFiles(where.repository, [
      ['desired-state/apps/huge.yaml', Buffer.alloc(size, '# a comment without end\n')],
      ['desired-state/huge.bin', Buffer.alloc(size, 1)],
    ]);
    const manager = await startProcessManager(where);
    const { body } = await manager.request('POST', '/api/v2/reconcile');
    const told = body.problems.map(({ file, code }: Record<string, string>) => `${file} ${code}`);
    expect(told).toEqual(['apps/huge.yaml file-too-large', 'huge.bin file-unexpected']);
    expect(body.problems[0].message).toContain(String(size));
    expect((await manager.request('PUT', '/api/v2/apps/web/update', { privileged: true })).status).toBe(202);
    await manager.stop();
  });
});
