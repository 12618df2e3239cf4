import { HoldfastError } from '../errors.ts';
import type { AskAnswer, AskBody } from '../protocol/ask.ts';
import { ANSWERABLE, type Ask, isWaiting, KEPT } from '../store/asks/ask.ts';
import type { AskStore } from '../store/asks/port.ts';

/** What people ask devices, and what these answer. */
export interface Asks {
  /** Asks a device. Rejects as `unavailable` if too many asks wait for it. */
  ask(device: string, body: AskBody, by: string): Promise<Ask>;
  /** How many asks wait for a device, as far as this manager knows. */
  countFor(device: string): number;
  /** Resolves to the asks that wait for a device. */
  waitingFor(device: string): Promise<Ask[]>;
  /** Resolves to false if no such ask waits for the device. */
  answer(device: string, id: string, answer: AskAnswer): Promise<boolean>;
  get(device: string, id: string): Promise<Ask | null>;
  start(): void;
  close(): void;
}

export interface AskDependencies {
  store: AskStore;
  /** Returns a new id: 12 random hex digits. */
  newId(): string;
  /** Unix milliseconds. */
  now(): number;
}

/** Milliseconds between two looks at what other managers were asked, and at what is too old. */
const LOOKING = 2000;

export function createAsks({ store, newId, now }: AskDependencies): Asks {
  let counts = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;

  const count = async (): Promise<void> => {
    const waiting = new Map<string, number>();
    for (const { device } of await store.waiting(now())) waiting.set(device, (waiting.get(device) ?? 0) + 1);
    counts = waiting;
  };
  const look = async (): Promise<void> => {
    await store.dropBefore(now() - KEPT);
    await count();
  };
  return {
    ask: async (device, body, by) => {
      const ask: Ask = { id: newId(), device, by, at: now(), answer: null, ...contentOf(body) };
      if (!(await store.add(ask)))
        throw new HoldfastError(
          'unavailable',
          'too many asks wait for this device; wait until it has answered',
        );
      await count();
      return ask;
    },
    countFor: (device) => (counts.size === 0 ? 0 : (counts.get(device) ?? 0)),
    waitingFor: async (device) => (await store.waiting(now())).filter((ask) => ask.device === device),
    answer: async (device, id, answer) => {
      const isKept = await store.answer(device, id, { at: now(), ...answer });
      if (isKept) await count();
      return isKept;
    },
    get: (device, id) => store.get(device, id),
    start: () => {
      // A failure is the store's, which says so elsewhere; the next look tries again.
      timer = setInterval(() => void look().catch(() => undefined), LOOKING).unref();
    },
    close: () => {
      if (timer !== null) clearInterval(timer);
    },
  };
}

function contentOf(body: AskBody): Pick<Ask, 'kind' | 'app' | 'container' | 'lines' | 'since'> {
  const { kind, app } = body;
  const { container = null, lines = 0, since = null } = body.kind === 'logs' ? body : {};
  return { kind, app, container, lines, since };
}

/** The state of an ask, and until when the device may answer it, in Unix milliseconds. */
export function stateOf(
  ask: Ask,
  now: number,
): { state: 'waiting' | 'done' | 'failed' | 'expired'; expiresAt: number } {
  const expiresAt = ask.at + ANSWERABLE;
  if (ask.answer !== null) return { state: ask.answer.error === null ? 'done' : 'failed', expiresAt };
  return { state: isWaiting(ask, now) ? 'waiting' : 'expired', expiresAt };
}
