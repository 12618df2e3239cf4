import type { TestManager } from './manager.ts';

/** The body of a reply of `/info`. */
export interface Info {
  device_group_id: number;
  prune_id: number;
  apps_list: string[];
  apps: ({ app_name: string; app_id: number; _id: unknown } & Record<string, unknown>)[];
}

/**
 * A model of the worker on a device of one group: it acts on an object only if its id is greater than the last one that
 * it saw of that name, and never forgets an id.
 */
export class Worker {
  readonly #group: string;
  readonly #seen = new Map<string, number>();
  /** The running containers: by app, what they were made from. */
  readonly containers = new Map<string, string>();
  /** What it did since a test last emptied this list: `start web`, `restart web`, `stop web`, `prune`. */
  actions: string[] = [];

  constructor(group = 'edge') {
    this.#group = group;
  }

  /** Requests `/info` and follows the reply, to which it resolves. Rejects if the status is not 200. */
  async poll(manager: TestManager): Promise<Info> {
    const { status, body, text } = await manager.get(`/api/v2/device_groups/${this.#group}/info`);
    if (status !== 200) throw new Error(`the device got ${status}: ${text}`);
    this.follow(body);
    return body;
  }

  /** Acts on a reply. */
  follow(info: Info): void {
    const isNewList = this.#isNew('group', info.device_group_id);
    if (isNewList) for (const name of this.containers.keys()) this.#stopUnlessIn(info, name);
    for (const app of info.apps) this.#followApp(app, isNewList);
    if (this.#isNew('prune', info.prune_id)) this.actions.push('prune');
  }

  /** Whether its containers are those of the reply. */
  agreesWith(info: Info): boolean {
    const wanted = info.apps.map((app) => `${app.app_name} ${contentOf(app)}`).sort();
    const running = Array.from(this.containers, ([name, content]) => `${name} ${content}`).sort();
    return JSON.stringify(wanted) === JSON.stringify(running);
  }

  #followApp(app: Info['apps'][number], isNewList: boolean): void {
    const { app_name: name, app_id: id } = app;
    const isNew = this.#isNew(`app ${name}`, id);
    const isRunning = this.containers.has(name);
    if (isRunning ? !isNew : !isNewList) return;
    this.containers.set(name, contentOf(app));
    this.actions.push(`${isRunning ? 'restart' : 'start'} ${name}`);
  }

  #stopUnlessIn({ apps_list }: Info, name: string): void {
    if (apps_list.includes(name)) return;
    this.containers.delete(name);
    this.actions.push(`stop ${name}`);
  }

  #isNew(what: string, id: number): boolean {
    const isNew = id > (this.#seen.get(what) ?? 0);
    if (isNew) this.#seen.set(what, id);
    return isNew;
  }
}

/** What a container is made from: all fields of its app except the ids. */
export function contentOf({ app_id: _, _id: __, ...content }: Info['apps'][number]): string {
  return JSON.stringify(content);
}
