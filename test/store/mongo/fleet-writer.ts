import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ProcessManager } from '../../support/process-manager.ts';
import type { FleetManagers } from './fleet-managers.ts';

/** What a write leaves behind: a commit, an entry in the log of operations, or both. */
interface Traces {
  commit?: boolean;
  operation?: boolean;
}

interface Write extends Traces {
  method: string;
  path: string;
  body?: unknown;
}

/** What all writers of a test share. */
export interface Tally {
  /** Acknowledged writes that are still wanted. */
  left: number;
  /** Writes without an answer, or with one that says that the outcome is not known or that it was refused. */
  unsure: number;
  /** Request ids of acknowledged writes that made a commit, and of those that are in the log of operations. */
  commits: string[];
  operations: string[];
}

/**
 * A client with an app and a group of its own, which sends each write to the next manager, and beside them updates an
 * app that all clients update. After a write whose outcome it does not know it looks before it goes on.
 */
export class FleetWriter {
  readonly #name: string;
  readonly #managers: FleetManagers;
  readonly #tally: Tally;
  #turn = 0;
  #round = 0;
  #isRunning = true;
  #appId = 0;

  constructor(name: string, managers: FleetManagers, tally: Tally) {
    this.#name = name;
    this.#managers = managers;
    this.#tally = tally;
  }

  /** Writes until nothing is left to do. */
  async run(): Promise<void> {
    while (this.#tally.left > 0) await this.#writeRound();
  }

  /** One of everything; the rest of a round is left out after an unknown outcome. */
  async #writeRound(): Promise<void> {
    this.#round += 1;
    for (const next of this.#writes()) {
      if (this.#tally.left <= 0) return;
      if (await this.#write(next())) continue;
      this.#tally.unsure += 1;
      await this.#look();
      return;
    }
  }

  #writes(): (() => Write)[] {
    const own = `/api/v2/apps/${this.#name}`;
    const extra = `${own}-${this.#round}`;
    const group = `/api/v2/device_groups/of-${this.#name}`;
    const image = (): object => ({ container_image: `${this.#name}:${this.#round}.${this.#turn}` });
    const apps = ['web', this.#name, `${this.#name}-${this.#round}`];
    return [
      () => ({ method: 'POST', path: extra, body: image(), commit: true }),
      () => ({ method: 'PUT', path: `${group}/update`, body: { apps }, commit: true }),
      () => ({ method: 'PUT', path: `${own}/update`, body: image(), commit: true }),
      () => ({ method: 'POST', path: `${own}/stop`, commit: this.#isRunning }),
      () => ({ method: 'POST', path: `${own}/start`, commit: !this.#isRunning }),
      () => ({ method: 'POST', path: `${own}/restart`, operation: true }),
      () => ({ method: 'PUT', path: '/api/v2/apps/web/update', body: image(), commit: true }),
      () => ({ method: 'POST', path: `${group}/prune`, operation: true }),
      () => ({ method: 'DELETE', path: extra, commit: true }),
    ];
  }

  /** Resolves to whether the write was acknowledged. */
  async #write(write: Write): Promise<boolean> {
    this.#turn += 1;
    const manager = await this.#managers.pick(this.#turn);
    const reply = await manager.request(write.method, write.path, write.body).catch(() => null);
    if (reply === null) return false;
    const what = `${write.method} ${write.path}: ${reply.text}`;
    expect([200, 202, 409, 503], what).toContain(reply.status);
    if (reply.status > 202) return false;
    this.#tally.left -= 1;
    const id = reply.headers.get('x-request-id') ?? '';
    if (write.commit === true) this.#tally.commits.push(id);
    if (write.operation === true) this.#tally.operations.push(id);
    if (reply.body.app_name === this.#name) this.#follow(reply.body, what);
    return true;
  }

  /** Nobody else writes this app: every write that changes it gives a higher id. */
  #follow(app: { app_id: number; running: boolean }, what: string): void {
    expect(app.app_id, what).toBeGreaterThanOrEqual(this.#appId);
    this.#appId = app.app_id;
    this.#isRunning = app.running;
  }

  /** Has a manager look at origin, and then at what has become of the app. */
  async #look(): Promise<void> {
    for (;;) {
      this.#turn += 1;
      const manager = await this.#managers.pick(this.#turn);
      const app = await this.#read(manager).catch(() => null);
      if (app !== null) return this.#follow(app, 'a look');
      await sleep(50);
    }
  }

  async #read(manager: ProcessManager): Promise<{ app_id: number; running: boolean } | null> {
    const looked = await manager.request('POST', '/api/v2/reconcile');
    const reply = await manager.request('GET', `/api/v2/apps/${this.#name}`);
    return looked.status === 200 && reply.status === 200 ? reply.body : null;
  }
}
