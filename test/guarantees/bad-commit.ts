import { expect } from 'vitest';
import type { TestManager } from '../support/manager.ts';

/** What is expected of a bad commit on top of `SMALL_FLEET`. */
interface Expected {
  /** All problems as `file:line code`, in their order. */
  problems: readonly string[];
  /** Names of the apps that it adds. */
  apps?: readonly string[];
  /** Whether writes are refused, because no work tree can hold the files of the commit. */
  refusesWrites?: boolean;
}

interface Problem {
  file: string;
  line: number;
  code: string;
  message: string;
}

/**
 * Expects that a bad commit at the head harms nothing but itself: it is applied with these problems and no others, the
 * fleet is served, an API write to another file reaches git and the store, and all of that also holds after a restart.
 * Resolves to the manager that runs then, and in `output` to the replies about problems and both logs.
 */
export async function expectServesTheRest(
  manager: TestManager,
  { problems, apps = [], refusesWrites = false }: Expected,
): Promise<{ output: string; manager: TestManager }> {
  const output: string[] = [];
  const problemsOf = async ({ reconcile, repository }: TestManager): Promise<string[]> => {
    const reply = await reconcile();
    output.push(reply.text);
    expect(reply.body.error).toBeNull();
    expect(reply.body.revision_applied).toBe(await repository.git('rev-parse', 'HEAD'));
    for (const { message } of reply.body.problems) expect(message).toMatch(/\S+ \S+ \S+/);
    return reply.body.problems.map(({ file, line, code }: Problem) => `${file}:${line} ${code}`);
  };
  expect(await problemsOf(manager)).toEqual(problems);
  await expectFleet(manager, apps);
  const expectWrite = refusesWrites ? expectWriteRefused : expectWriteAccepted;
  await expectWrite(manager, 'written:1');
  const again = await manager.restart();
  expect(await problemsOf(again)).toEqual(problems);
  await expectFleet(again, apps);
  await expectWrite(again, 'written:2');
  output.push(JSON.stringify(manager.log), JSON.stringify(again.log));
  return { output: output.join('\n'), manager: again };
}

async function expectFleet(manager: TestManager, added: readonly string[]): Promise<void> {
  const { body } = await manager.get('/api/v2/apps');
  expect(body.apps).toEqual(['cron', 'web', ...added].sort());
  const info = await manager.get('/api/v2/device_groups/edge/info');
  expect(info.body.apps_list).toEqual(['web', 'cron']);
}

async function expectWriteAccepted(manager: TestManager, image: string): Promise<void> {
  const reply = await manager.put('/api/v2/apps/web/update', { container_image: image });
  expect(reply.status, reply.text).toBe(202);
  expect(reply.body.container_image).toBe(image);
  expect(await manager.repository.show('desired-state/apps/web.yaml')).toContain(image);
}

async function expectWriteRefused(manager: TestManager, image: string): Promise<void> {
  const head = await manager.repository.git('rev-parse', 'HEAD');
  const reply = await manager.put('/api/v2/apps/web/update', { container_image: image });
  expect(reply.status, reply.text).toBe(409);
  expect(reply.body.error).toMatch(/invalid path|cannot stat/);
  expect(await manager.repository.git('rev-parse', 'HEAD')).toBe(head);
  expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('nginx:1.26');
}
