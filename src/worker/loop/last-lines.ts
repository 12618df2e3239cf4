import type { TroubleCode } from '../../protocol/report.ts';
import type { Engine } from '../engine/engine.ts';
import type { Actual, Container } from '../plan/model.ts';
import type { Phase, Session } from '../plan/session.ts';

/** Lines of a failed container that are reported. */
export const LOG_LINES = 20;
/** Troubles for which a container itself may say why. */
const SAID_BY_CONTAINER: ReadonlySet<TroubleCode> = new Set<TroubleCode>(['crashed', 'unhealthy']);

interface Known {
  /** Which failure the lines are of. */
  key: string;
  lines: readonly string[];
}

/** The last lines of apps that keep failing. A container is asked once for each time that it fails. */
export class LastLines {
  readonly #engine: Pick<Engine, 'logs'>;
  #known: ReadonlyMap<string, Known> = new Map();

  constructor(engine: Pick<Engine, 'logs'>) {
    this.#engine = engine;
  }

  /** Returns what the failed container of an app wrote last; nothing of one that does not fail. */
  of(app: string): readonly string[] {
    return this.#known.get(app)?.lines ?? [];
  }

  /** Asks for the lines of what fails now. Never rejects. */
  async look({ phases }: Session, { containers }: Actual): Promise<void> {
    const failing = Object.entries(phases).filter(([, phase]) => isFailing(phase));
    const known = await Promise.all(
      failing.map(async ([app]): Promise<[string, Known]> => {
        const failed = containers.find((one) => one.app === app && one.role === 'current' && hasFailed(one));
        return [app, await this.#ask(failed, this.#known.get(app))];
      }),
    );
    this.#known = new Map(known);
  }

  /** One that runs again for a moment may fail in the same way, which its key would not tell. */
  async #ask(failed: Container | undefined, known: Known = { key: '', lines: [] }): Promise<Known> {
    if (failed === undefined) return { ...known, key: '' };
    const { id, state, health, restarts } = failed;
    const key = `${id} ${state} ${health} ${restarts}`;
    if (key === known.key) return known;
    const lines = await this.#engine.logs(id, LOG_LINES).catch(() => known.lines);
    return { key, lines };
  }
}

function isFailing({ state, obstacle }: Phase): boolean {
  return state === 'failing' && obstacle !== null && SAID_BY_CONTAINER.has(obstacle.code);
}

function hasFailed({ state, health, restarts }: Container): boolean {
  return state === 'running' ? health === 'unhealthy' || restarts > 0 : state !== 'created';
}
