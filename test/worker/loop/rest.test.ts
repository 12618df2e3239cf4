import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answerOf, polls, startEngine, startStandIn, startWorker, until } from './support.ts';

it('a worker at rest asks the engine for three lists between two polls, and writes nothing', {
  timeout: 90_000,
}, async () => {
  const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
  const worker = await startWorker({ manager: manager.address, engine: await startEngine() });
  const file = join(worker.folder, 'worker.json');
  await until(
    () => readFile(file, 'utf8').catch(() => '{}'),
    (text) => JSON.parse(text).done === '"f1ee.5-x"',
  );
  await until(
    () => manager.reports.at(-1)?.['applied'],
    (applied) => applied === '"f1ee.5-x"',
  );
  const written = await stat(file);
  const [calls, asked] = [worker.engine.calls.length, manager.tags.length];
  await polls(manager, 8);
  const made = worker.engine.calls.slice(calls);
  const looks = made.filter((call) => call.startsWith('GET /networks')).length;
  expect(new Set(made.map((call) => call.split('?')[0]))).toEqual(
    new Set(['GET /containers/json', 'GET /networks', 'GET /images/json']),
  );
  // Polls and looks are timed on their own, at the same interval; a poll that brings nothing new leads to no look.
  expect(looks).toBeLessThanOrEqual(1.5 * (manager.tags.length - asked) + 1);
  expect(made.length).toBeLessThanOrEqual(3 * looks + 2);
  const after = await stat(file);
  expect([after.mtimeMs, after.ino]).toEqual([written.mtimeMs, written.ino]);
});
