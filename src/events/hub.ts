/** An event of this map, as the arguments of `emit`: its name and its data. */
type EventOf<Events> = { [Name in keyof Events]: [name: Name, data: Events[Name]] }[keyof Events];

/** Says that something has happened. Returns when every listener was called; never throws. */
export type Emit<Events> = (...event: EventOf<Events>) => void;

/** What happened, as data, for whoever listens. `Events` maps the names of events to their data. */
export interface Hub<Events> {
  emit: Emit<Events>;
  /**
   * Has `listener` called at each event of that name, after those that were added earlier. Nothing waits for a promise that it
   * returns; if it throws or rejects, the others are called all the same.
   */
  on<Name extends keyof Events>(name: Name, listener: (data: Events[Name]) => unknown): void;
  /** Resolves once all promises that listeners have returned are settled. */
  idle(): Promise<void>;
}

/** Creates a hub without listeners. `onFailure` gets what a listener throws or rejects with; it must not throw. */
export function createHub<Events>(onFailure: (error: unknown, name: keyof Events) => void): Hub<Events> {
  const listeners = new Map<keyof Events, ((data: never) => unknown)[]>();
  const pending = new Set<Promise<void>>();

  // Calls the listener before it returns: an async function runs up to its first await at once.
  const call = async (listener: (data: never) => unknown, [name, data]: EventOf<Events>): Promise<void> => {
    try {
      // `on` adds to the list of a name only listeners that take its data.
      await listener(data as never);
    } catch (error) {
      onFailure(error, name);
    }
  };

  return {
    emit: (...event) => {
      for (const listener of listeners.get(event[0]) ?? []) {
        const called: Promise<void> = call(listener, event).finally(() => pending.delete(called));
        pending.add(called);
      }
    },
    on: (name, listener) => void listeners.set(name, [...(listeners.get(name) ?? []), listener]),
    idle: async () => {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}
