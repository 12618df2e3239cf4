import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Queue } from '../../src/async/queue.ts';

/** A task that adds its name to `log` when it begins, and ends when `end` is called. */
function heldTask(log: string[], name: string) {
  let end = (): void => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const task = async (): Promise<string> => {
    log.push(name);
    await held;
    return name;
  };
  return { task, end };
}

const late = (): Error => new Error('too late');

describe('Queue', () => {
  it('begins a task once the one before it has ended, even if that failed', async () => {
    const queue = new Queue();
    const log: string[] = [];
    const first = heldTask(log, 'first');
    const failing = queue.run(async () => {
      await first.task();
      throw new Error('failed');
    });
    const second = queue.run(heldTask(log, 'second').task);
    await setImmediate();
    expect(log).toEqual(['first']);
    first.end();
    await expect(failing).rejects.toThrow('failed');
    await setImmediate();
    expect(log).toEqual(['first', 'second']);
    expect(await Promise.race([second, 'still running'])).toBe('still running');
  });

  it('never begins a task that has waited too long, and continues with the next', async () => {
    const queue = new Queue();
    const log: string[] = [];
    const first = heldTask(log, 'first');
    const held = queue.run(first.task);
    const impatient = queue.runWithin(1, late, heldTask(log, 'impatient').task);
    const next = queue.run(async () => log.push('next'));
    await expect(impatient).rejects.toThrow('too late');
    expect(log).toEqual(['first']);
    first.end();
    await Promise.all([held, next]);
    expect(log).toEqual(['first', 'next']);
  });

  it('lets a task that has begun run longer than the wait limit', async () => {
    const log: string[] = [];
    const long = heldTask(log, 'long');
    const running = new Queue().runWithin(1, late, long.task);
    setTimeout(long.end, 20);
    expect(await running).toBe('long');
  });

  it('passes on the failure of a task that began in time', async () => {
    const failing = new Queue().runWithin(1000, late, () => Promise.reject(new Error('failed')));
    await expect(failing).rejects.toThrow('failed');
  });
});
