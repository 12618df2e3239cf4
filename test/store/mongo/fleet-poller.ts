import { setTimeout as sleep } from 'node:timers/promises';
import { contentOf, type Info, Worker } from '../../support/worker.ts';
import type { FleetManagers } from './fleet-managers.ts';

/** The content that each id was served with, for all devices together. */
export type Served = Map<string, string>;

/** A device that polls the managers alternately, remembers every id, and collects what breaks a rule. */
export class FleetPoller {
  readonly #group: string;
  readonly #managers: FleetManagers;
  readonly #served: Served;
  readonly #ids = new Map<string, number>();
  readonly #worker: Worker;
  /** Descriptions of what no device may ever see. */
  readonly broken: string[] = [];
  /** Ids that were lower than before. Managers with a cache can serve older replies for a while. */
  readonly fallen: string[] = [];
  /** The number of replies so far. */
  replies = 0;

  constructor(group: string, managers: FleetManagers, served: Served) {
    this.#group = group;
    this.#managers = managers;
    this.#served = served;
    this.#worker = new Worker(group);
  }

  /** Polls until `isOver`, `pause` milliseconds after each reply. */
  async run(isOver: () => boolean, pause: number): Promise<void> {
    for (let turn = 0; !isOver(); turn += 1) {
      await this.#poll(turn);
      await sleep(pause);
    }
  }

  /** Whether the device runs what this reply says. */
  agreesWith(info: Info): boolean {
    return this.#worker.agreesWith(info);
  }

  async #poll(turn: number): Promise<void> {
    const manager = await this.#managers.pick(turn);
    const path = `/api/v2/device_groups/${this.#group}/info`;
    const reply = await manager.request('GET', path).catch(() => null);
    // A killed manager does not answer; one that is behind for a moment answers 503, which devices ignore.
    if (reply === null || reply.status === 503) return;
    if (reply.status !== 200) this.broken.push(`${this.#group}: ${reply.status} ${reply.text}`);
    else this.see(reply.body);
  }

  /** Follows a reply as a device does, and compares it with all earlier ones. */
  see(info: Info): void {
    this.replies += 1;
    this.#worker.follow(info);
    const names = info.apps.map(({ app_name }) => app_name);
    const list = JSON.stringify(info.apps_list);
    if (JSON.stringify(names) !== list) this.broken.push(`${this.#group}: ${names} for the list ${list}`);
    this.#record(`group ${this.#group}`, info.device_group_id, list);
    this.#record(`prune ${this.#group}`, info.prune_id, '');
    for (const app of info.apps) this.#record(`app ${app.app_name}`, app.app_id, contentOf(app));
  }

  #record(what: string, id: number, content: string): void {
    const before = this.#ids.get(what) ?? 0;
    if (id < before) this.fallen.push(`${what}: ${id} after ${before}`);
    this.#ids.set(what, Math.max(id, before));
    const known = this.#served.get(`${what} ${id}`) ?? content;
    if (known !== content) this.broken.push(`${what}: the id ${id} was ${known} and is ${content}`);
    this.#served.set(`${what} ${id}`, known);
  }
}
