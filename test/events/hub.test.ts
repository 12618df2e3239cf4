import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createHub } from '../../src/events/hub.ts';

interface Events {
  added: { name: string };
  removed: null;
}

/** A hub that logs the failures of its listeners. */
function loggingHub() {
  const log: string[] = [];
  const hub = createHub<Events>((error, name) => void log.push(`${name}: ${error}`));
  return { ...hub, log };
}

const failures: [string, () => unknown][] = [
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', async () => Promise.reject(new Error('broken'))],
];

describe('a hub', () => {
  it('calls the listeners of an event with its data, in the order in which they were added, before emit returns', () => {
    const { on, emit, log } = loggingHub();
    on('added', ({ name }) => log.push(`first ${name}`));
    on('removed', () => log.push('other'));
    on('added', ({ name }) => log.push(`second ${name}`));
    emit('added', { name: 'web' });
    expect(log).toEqual(['first web', 'second web']);
    emit('removed', null);
    expect(log.slice(2)).toEqual(['other']);
  });

  it.each(failures)(
    'logs a listener that %s, and calls the others at this event and the next',
    async (_, fail) => {
      const { on, emit, idle, log } = loggingHub();
      on('added', fail);
      on('added', ({ name }) => log.push(name));
      emit('added', { name: 'web' });
      emit('added', { name: 'cron' });
      await idle();
      expect([...log].sort()).toEqual(['added: Error: broken', 'added: Error: broken', 'cron', 'web']);
    },
  );

  it('waits for no listener; only idle does, also for those that begin meanwhile', async () => {
    const { on, emit, idle, log } = loggingHub();
    on('added', async ({ name }) => {
      await setImmediate();
      if (name === 'web') emit('added', { name: 'cron' });
      log.push(`${name} is done`);
    });
    emit('added', { name: 'web' });
    expect(log).toEqual([]);
    await idle();
    expect(log).toEqual(['web is done', 'cron is done']);
  });
});
