import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ProcessManager } from '../../support/process-manager.ts';
import type { FleetManagers } from './fleet-managers.ts';

interface Write {
  method: string;
  path: string;
  body?: unknown;
  /** Whether it makes a commit. */
  commit?: boolean;
  /** Whether it is an operation. */
  operation?: boolean;
}

/** What all writers of a test share and count together. */
export interface Tally {
  /** The number of writes that still have to be acknowledged. */
  left: number;
  /** The number of writes without a reply, and of those that were refused or have an unknown outcome. */
  unacknowledged: number;
  /** Request ids of the acknowledged writes that made a commit. */
  commits: string[];
  /** Request ids of the acknowledged operations. */
  operations: string[];
}

/**
 * A client that writes an app and a group of its own and an app that it shares with all other clients, each time through the
 * next manager. After an unacknowledged write it reads its app before it continues.
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

  /** Writes until enough writes of all clients are acknowledged. */
  async run(): Promise<void> {
    while (this.#tally.left > 0) await this.#writeRound();
  }

  /** Sends one write of each kind; an unacknowledged write ends the round. */
  async #writeRound(): Promise<void> {
    this.#round += 1;
    for (const next of this.#writes()) {
      if (this.#tally.left <= 0) return;
      if (await this.#write(next())) continue;
      this.#tally.unacknowledged += 1;
      await this.#readOwnApp();
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

  /** Takes over the state of the client's own app, whose id must not fall. */
  #follow(app: { app_id: number; running: boolean }, what: string): void {
    expect(app.app_id, what).toBeGreaterThanOrEqual(this.#appId);
    this.#appId = app.app_id;
    this.#isRunning = app.running;
  }

  /** Reads the client's own app from a manager that has just polled origin. */
  async #readOwnApp(): Promise<void> {
    for (;;) {
      this.#turn += 1;
      const manager = await this.#managers.pick(this.#turn);
      const app = await this.#read(manager).catch(() => null);
      if (app !== null) return this.#follow(app, 'after an unacknowledged write');
      await sleep(50);
    }
  }

  async #read(manager: ProcessManager): Promise<{ app_id: number; running: boolean } | null> {
    const reconciled = await manager.request('POST', '/api/v2/reconcile');
    const reply = await manager.request('GET', `/api/v2/apps/${this.#name}`);
    return reconciled.status === 200 && reply.status === 200 ? reply.body : null;
  }
}
