import { describe, expect, it } from 'vitest';
import { readingYaml } from '../../../src/desired/yaml/document.ts';

const LONG = `env_vars:\n${Array.from({ length: 3500 }, (_, index) => `  K${index}: v # why\n`).join('')}`;

describe('readingYaml', () => {
  it('reads a long text in several steps, none of which takes most of the time', () => {
    const times: number[] = [];
    const work = readingYaml(LONG);
    for (let isDone = false; !isDone; ) {
      const before = process.cpuUsage();
      isDone = work.next().done === true;
      times.push(process.cpuUsage(before).user);
    }
    const total = times.reduce((sum, time) => sum + time, 0);
    expect(Math.max(...times)).toBeLessThan(total / 2);
  });
});
