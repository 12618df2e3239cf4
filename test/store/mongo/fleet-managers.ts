import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../../support/folder.ts';
import type { TestOrigin } from '../../support/origin.ts';
import {
  type ProcessManager,
  type ProcessOptions,
  startProcessManager,
  tryStart,
} from '../../support/process-manager.ts';

/** Managers as processes on one origin and one database. The last one can be killed and is then away for a while. */
export class FleetManagers {
  readonly #options: ProcessOptions[] = [];
  readonly #running: (ProcessManager | null)[] = [];
  /** The number of kills so far. */
  kills = 0;

  static async start(count: number, origin: TestOrigin, env: Record<string, string>): Promise<FleetManagers> {
    const managers = new FleetManagers();
    for (let number = 0; number < count; number += 1) {
      const options = {
        repository: origin.user,
        dataFolder: join(await temporaryFolder(), 'data'),
        env: { GIT_REMOTE: origin.url, DESIRED_STATE: 'desired-state', GIT_POLL_INTERVAL: '1', ...env },
      };
      managers.#options.push(options);
      managers.#running.push(await startProcessManager(options));
    }
    return managers;
  }

  /** The running managers. */
  get all(): ProcessManager[] {
    return this.#running.filter((manager) => manager !== null);
  }

  /** Resolves to the manager whose turn it is, or to another one if it is away; waits while all are. */
  async pick(turn: number): Promise<ProcessManager> {
    for (;;) {
      const manager = this.#running[turn % this.#running.length] ?? this.all[0];
      if (manager !== undefined) return manager;
      await sleep(20);
    }
  }

  /** Kills the last manager, and starts it again on its data folder. */
  async killAndRestart(): Promise<void> {
    const last = this.#running.length - 1;
    await this.#running[last]?.kill();
    this.kills += 1;
    this.#running[last] = null;
    const options = this.#options[last];
    const manager = options === undefined ? null : await tryStart(options);
    if (manager === null || !(await manager.isReady()))
      throw new Error('a killed manager did not start again');
    this.#running[last] = manager;
  }
}
