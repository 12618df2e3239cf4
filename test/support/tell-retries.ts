import type { Reporter, TestModule } from 'vitest/node';

/** Names the tests that passed only when they were tried again, and why they had failed: a race must not hide behind a retry. */
export class TellRetries implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lucky = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => {
        const tries = test.diagnostic()?.retryCount ?? 0;
        if (tries === 0 || !test.ok()) return [];
        const reasons = (test.result().errors ?? []).map(({ message }) => `    ${message.split('\n')[0]}`);
        return [`  ${module.relativeModuleId}: ${test.fullName} (${tries + 1} tries)`, ...reasons];
      }),
    );
    if (lucky.length > 0) process.stdout.write(`Passed only when tried again:\n${lucky.join('\n')}\n`);
  }
}
