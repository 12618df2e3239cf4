import type { Step } from '../plan/model.ts';

type Pull = Extract<Step, { do: 'pull' }>;

/** Seconds after which a slow pull lets another one begin. */
const SLOW_AFTER = 60;
const MOST_AT_ONCE = 3;

interface Running {
  id: number;
  since: number;
  controller: AbortController;
}

/** The pulls under way: one at a time, for a device's line is thin; a slow one lets others pass. */
export class Pulls {
  readonly #running = new Map<string, Running>();

  /** The apps whose image is being pulled. */
  apps(): ReadonlySet<string> {
    return new Set(this.#running.keys());
  }

  /** Whether one more may begin. `now` is in seconds. */
  hasRoom(now: number): boolean {
    const running = [...this.#running.values()];
    return running.length < MOST_AT_ONCE && running.every(({ since }) => now - since >= SLOW_AFTER);
  }

  /** Begins a pull; the signal is aborted when nobody wants it any more. */
  begin({ app, id }: Pull, now: number): AbortSignal {
    const controller = new AbortController();
    this.#running.set(app, { id, since: now, controller });
    return controller.signal;
  }

  end(app: string): void {
    this.#running.delete(app);
  }

  /** Cancels the pulls for ids that are not wanted any more. */
  cancelOthers(isWanted: (app: string, id: number) => boolean): void {
    for (const [app, { id, controller }] of this.#running) if (!isWanted(app, id)) controller.abort();
  }
}
