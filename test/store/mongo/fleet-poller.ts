import { setTimeout as sleep } from 'node:timers/promises';
import { contentOf, type Info, Worker } from '../../support/worker.ts';
import type { FleetManagers } from './fleet-managers.ts';

/** What every id stood for, whoever saw it. */
export type Served = Map<string, string>;

/** A device that asks one manager after the other, and remembers every id. What breaks a rule it writes down. */
export class FleetPoller {
  readonly #group: string;
  readonly #managers: FleetManagers;
  readonly #served: Served;
  readonly #ids = new Map<string, number>();
  readonly #worker: Worker;
  /** What no device may ever see. */
  readonly broken: string[] = [];
  /** Ids that were below one seen before: replies that were kept ready, where managers do that. */
  readonly fallen: string[] = [];
  /** Replies that it got. */
  replies = 0;

  constructor(group: string, managers: FleetManagers, served: Served) {
    this.#group = group;
    this.#managers = managers;
    this.#served = served;
    this.#worker = new Worker(group);
  }

  /** Asks again and again, `pause` milliseconds after each reply. */
  async run(isOver: () => boolean, pause: number): Promise<void> {
    for (let turn = 0; !isOver(); turn += 1) {
      await this.#poll(turn);
      await sleep(pause);
    }
  }

  agreesWith(info: Info): boolean {
    return this.#worker.agreesWith(info);
  }

  async #poll(turn: number): Promise<void> {
    const manager = await this.#managers.pick(turn);
    const path = `/api/v2/device_groups/${this.#group}/info`;
    const reply = await manager.request('GET', path).catch(() => null);
    // A killed manager gives no answer; one that is behind for a moment says so, and no device acts on that.
    if (reply === null || reply.status === 503) return;
    if (reply.status !== 200) this.broken.push(`${this.#group}: ${reply.status} ${reply.text}`);
    else this.see(reply.body);
  }

  /** Takes a reply as a device does, and holds it against all replies so far. */
  see(info: Info): void {
    this.replies += 1;
    this.#worker.follow(info);
    const names = info.apps.map(({ app_name }) => app_name);
    const list = JSON.stringify(info.apps_list);
    if (JSON.stringify(names) !== list) this.broken.push(`${this.#group}: ${names} for the list ${list}`);
    this.#hold(`group ${this.#group}`, info.device_group_id, list);
    this.#hold(`prune ${this.#group}`, info.prune_id, '');
    for (const app of info.apps) this.#hold(`app ${app.app_name}`, app.app_id, contentOf(app));
  }

  #hold(what: string, id: number, content: string): void {
    const before = this.#ids.get(what) ?? 0;
    if (id < before) this.fallen.push(`${what}: ${id} after ${before}`);
    this.#ids.set(what, Math.max(id, before));
    const known = this.#served.get(`${what} ${id}`) ?? content;
    if (known !== content) this.broken.push(`${what}: the id ${id} was ${known} and is ${content}`);
    this.#served.set(`${what} ${id}`, known);
  }
}
