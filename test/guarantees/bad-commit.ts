import { expect } from 'vitest';
import type { TestManager } from '../support/manager.ts';

/** What a bad commit may do: have these problems, and bring these apps. */
interface Harm {
  /** `file:line code`, in order. */
  problems: readonly string[];
  apps?: readonly string[];
  /** No work tree can hold the commit, so none can follow a write on top of it. */
  refusesWrites?: boolean;
}

interface Problem {
  file: string;
  line: number;
  code: string;
  message: string;
}

/**
 * After a bad commit: it has these problems and no other, what was good before is served, a write beside it lands in
 * git and in the store, and a restart on it ends in the same place. Resolves to everything that was said of it, and to
 * the manager that runs now.
 */
export async function expectServesTheRest(
  manager: TestManager,
  { problems, apps = [], refusesWrites = false }: Harm,
): Promise<{ said: string; manager: TestManager }> {
  const said: string[] = [];
  const told = async (on: TestManager): Promise<string[]> => {
    const reply = await on.reconcile();
    said.push(reply.text);
    expect(reply.body.error).toBeNull();
    expect(reply.body.revision_applied).toBe(await on.repository.git('rev-parse', 'HEAD'));
    for (const { message } of reply.body.problems) expect(message).toMatch(/\S+ \S+ \S+/);
    return reply.body.problems.map(({ file, line, code }: Problem) => `${file}:${line} ${code}`);
  };
  expect(await told(manager)).toEqual(problems);
  await expectFleet(manager, apps);
  const write = refusesWrites ? expectRefusal : expectWrites;
  await write(manager, 'beside:1');
  const again = await manager.restart();
  expect(await told(again)).toEqual(problems);
  await expectFleet(again, apps);
  await write(again, 'beside:2');
  said.push(JSON.stringify(manager.log), JSON.stringify(again.log));
  return { said: said.join('\n'), manager: again };
}

async function expectFleet(manager: TestManager, more: readonly string[]): Promise<void> {
  const { body } = await manager.get('/api/v2/apps');
  expect(body.apps).toEqual(['cron', 'web', ...more].sort());
  const info = await manager.get('/api/v2/device_groups/edge/info');
  expect(info.body.apps_list).toEqual(['web', 'cron']);
}

async function expectWrites(manager: TestManager, image: string): Promise<void> {
  const reply = await manager.put('/api/v2/apps/web/update', { container_image: image });
  expect(reply.status, reply.text).toBe(202);
  expect(reply.body.container_image).toBe(image);
  expect(await manager.repository.show('desired-state/apps/web.yaml')).toContain(image);
}

async function expectRefusal(manager: TestManager, image: string): Promise<void> {
  const head = await manager.repository.git('rev-parse', 'HEAD');
  const reply = await manager.put('/api/v2/apps/web/update', { container_image: image });
  expect(reply.status, reply.text).toBe(409);
  expect(reply.body.error).toMatch(/no work tree can hold/);
  expect(await manager.repository.git('rev-parse', 'HEAD')).toBe(head);
  expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('nginx:1.26');
}
