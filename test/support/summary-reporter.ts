import { dirname } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** So many of the slowest tests are named. */
const SLOWEST = 5;

/** Says at the end of a run what its summary does not: what was left out, what took longest, and what needed another try. */
export class TellMore implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    process.stdout.write([leftOut(tests), slowest(tests), lucky(tests)].join(''));
  }
}

/** Why they are, is said when the run begins (`announce.ts`). */
function leftOut(tests: readonly TestCase[]): string {
  const counts = new Map<string, number>();
  for (const test of tests.filter((one) => one.result().state === 'skipped')) {
    const folder = dirname(test.module.relativeModuleId);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  if (counts.size === 0) return '';
  return `Left out: ${Array.from(counts, ([folder, count]) => `${count} in ${folder}`).join(', ')}\n`;
}

function slowest(tests: readonly TestCase[]): string {
  const times = tests.map((test) => ({ test, ms: test.diagnostic()?.duration ?? 0 }));
  const lines = times
    .sort((one, other) => other.ms - one.ms)
    .slice(0, SLOWEST)
    .map(({ test, ms }) => `  ${(ms / 1000).toFixed(1)} s  ${nameOf(test)}\n`);
  return `Slowest:\n${lines.join('')}`;
}

/** Tests that passed only when they were tried again, and why they had failed: a race must not hide behind a retry. */
function lucky(tests: readonly TestCase[]): string {
  const lines = tests.flatMap((test) => {
    const tries = test.diagnostic()?.retryCount ?? 0;
    if (tries === 0 || !test.ok()) return [];
    const reasons = (test.result().errors ?? []).map(({ message }) => `    ${reasonIn(message)}\n`);
    return [`  ${nameOf(test)} (${tries + 1} tries)\n`, ...reasons];
  });
  return lines.length === 0 ? '' : `Passed only when tried again:\n${lines.join('')}`;
}

/** The first line of a message, with the seed and the path of the example where a property failed. */
function reasonIn(message: string): string {
  const [first = '', second = ''] = message.split('\n');
  return second.startsWith('{ seed: ') ? `${first} ${second}` : first;
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId}: ${test.fullName}`;
}
