import { type Ask, isWaiting, MOST_TEXT, MOST_WAITING } from './ask.ts';
import type { AskStore } from './port.ts';

/** Asks in the memory of this process, of a manager that shares its store with no other one. */
export function memoryAsks(): AskStore {
  /** Oldest first. */
  const asks = new Map<string, Ask>();
  const of = (device: string, id: string): Ask | null => {
    const ask = asks.get(id);
    return ask?.device === device ? ask : null;
  };
  const dropAnswers = (): void => {
    const answered = [...asks.values()].filter(({ answer }) => answer !== null);
    let size = answered.reduce((sum, { answer }) => sum + (answer?.text.length ?? 0), 0);
    for (const { id, answer } of answered) {
      if (size <= MOST_TEXT) return;
      asks.delete(id);
      size -= answer?.text.length ?? 0;
    }
  };
  return {
    add: async (ask) => {
      const waiting = [...asks.values()].filter(
        (each) => each.device === ask.device && isWaiting(each, ask.at),
      );
      if (waiting.length >= MOST_WAITING) return false;
      asks.set(ask.id, ask);
      return true;
    },
    waiting: async (now) => [...asks.values()].filter((ask) => isWaiting(ask, now)),
    get: async (device, id) => of(device, id),
    answer: async (device, id, answer) => {
      const ask = of(device, id);
      if (ask === null || !isWaiting(ask, answer.at)) return false;
      asks.set(id, { ...ask, answer });
      dropAnswers();
      return true;
    },
    dropBefore: async (at) => {
      for (const ask of asks.values()) if (ask.at < at) asks.delete(ask.id);
    },
  };
}
