import { dirname } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** The number of slowest tests that are listed. */
const SLOWEST = 5;

/** Prints after a run what vitest does not: which tests were skipped, took longest, or passed only on a retry. */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    process.stdout.write([skipped(tests), slowest(tests), retried(tests)].join(''));
  }
}

/** The number of skipped tests per folder; the reasons are printed when the run begins (`announce-skipped.ts`). */
function skipped(tests: readonly TestCase[]): string {
  const counts = new Map<string, number>();
  for (const test of tests.filter((one) => one.result().state === 'skipped')) {
    const folder = dirname(test.module.relativeModuleId);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  if (counts.size === 0) return '';
  return `Skipped: ${Array.from(counts, ([folder, count]) => `${count} in ${folder}`).join(', ')}\n`;
}

function slowest(tests: readonly TestCase[]): string {
  const times = tests.map((test) => ({ test, ms: test.diagnostic()?.duration ?? 0 }));
  const lines = times
    .sort((one, other) => other.ms - one.ms)
    .slice(0, SLOWEST)
    .map(({ test, ms }) => `  ${(ms / 1000).toFixed(1)} s  ${nameOf(test)}\n`);
  return `Slowest:\n${lines.join('')}`;
}

/** Tests that passed only on a retry, and why they had failed: a retry must not hide a race. */
function retried(tests: readonly TestCase[]): string {
  const lines = tests.flatMap((test) => {
    const tries = test.diagnostic()?.retryCount ?? 0;
    if (tries === 0 || !test.ok()) return [];
    const reasons = (test.result().errors ?? []).map(({ message }) => `    ${reasonIn(message)}\n`);
    return [`  ${nameOf(test)} (${tries + 1} tries)\n`, ...reasons];
  });
  return lines.length === 0 ? '' : `Passed only on a retry:\n${lines.join('')}`;
}

/** The first line of a message; of a failed property also the seed and the path of the example. */
function reasonIn(message: string): string {
  const [first = '', second = ''] = message.split('\n');
  return second.startsWith('{ seed: ') ? `${first} ${second}` : first;
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId}: ${test.fullName}`;
}
