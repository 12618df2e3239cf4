import { existsSync } from 'node:fs';
import { readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve, setUpFleet, stop } from './program.ts';

/** How often a process has opened the file of its store. */
async function opensOfStore(pid: number | undefined): Promise<number> {
  const folder = `/proc/${pid}/fd`;
  const targets = (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => ''));
  return (await Promise.all(targets)).filter((target) => target.endsWith('/store.sqlite')).length;
}

describe.runIf(existsSync('/proc/self/fd'))('the built program', () => {
  it('copies a large log of its store in a thread, with a connection of its own, which it closes when it stops', async () => {
    const setup = await setUpFleet();
    const program = await serve(setup, { AUTH_ENABLED: 'false' });
    const before = await opensOfStore(program.child.pid);
    const report = { hostname: 'h', device_group: 'edge', report_creation_time: 1, report: 'x'.repeat(9000) };
    const body = JSON.stringify(Array.from({ length: 100 }, () => report));
    const headers = { 'content-type': 'application/json' };
    // Enough for several checkpoints; each keeps the thread for some seconds.
    let opens = before;
    for (let count = 0; count < 60 && opens === before; count++) {
      const reply = await fetch(`${program.address}/api/v2/reports`, { method: 'POST', headers, body });
      expect(reply.status).toBe(200);
      opens = await opensOfStore(program.child.pid);
    }
    expect(opens).toBe(before + 1);
    expect(await stop(program, 'SIGTERM')).toBe(0);
    expect(program.log().at(-1)).toMatchObject({ msg: 'stopped' });
    expect((await stat(join(setup.dataFolder, 'store.sqlite-wal')).catch(() => ({ size: 0 }))).size).toBe(0);
  });
});
