import { type Content, membersOf } from '../desired/content.ts';
import { GroupsByApp } from '../desired/groups-by-app.ts';
import type { App } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { KINDS, type Kind, keyOf } from '../protocol/name.ts';
import type { Step } from './step.ts';

/** The content of every applied object, without its ids: what devices are served. */
export class AppliedState {
  #contents: Readonly<Record<Kind, Map<string, Content>>> = {
    app: new Map(),
    device_group: new Map(),
  };
  #groupsByApp = new GroupsByApp();

  /** Returns a copy, which stays as it is. */
  copy(): AppliedState {
    const copy = new AppliedState();
    const { app, device_group } = this.#contents;
    copy.#contents = { app: new Map(app), device_group: new Map(device_group) };
    copy.#groupsByApp = this.#groupsByApp.copy();
    return copy;
  }

  /** Whether no object is applied. */
  get isEmpty(): boolean {
    return KINDS.every((kind) => this.#contents[kind].size === 0);
  }

  has(kind: Kind, name: string): boolean {
    return this.#contents[kind].has(name);
  }

  content(kind: Kind, name: string): Content | undefined {
    return this.#contents[kind].get(name);
  }

  app(name: string): App | undefined {
    return this.content('app', name) as App | undefined;
  }

  group(name: string): DeviceGroup | undefined {
    return this.content('device_group', name) as DeviceGroup | undefined;
  }

  /** Returns the names of the groups whose applied content lists this app. */
  groupsListing(app: string): Iterable<string> {
    return this.#groupsByApp.of(app);
  }

  /** Returns the keys of all applied objects. */
  keys(): string[] {
    return KINDS.flatMap((kind) => Array.from(this.#contents[kind].keys(), (name) => keyOf(kind, name)));
  }

  /** Sets the content of an object; null removes it. */
  set(kind: Kind, name: string, content: Content | null): void {
    const contents = this.#contents[kind];
    for (const app of membersOf(contents.get(name))) this.#groupsByApp.remove(app, name);
    if (content === null) contents.delete(name);
    else contents.set(name, content);
    for (const app of membersOf(content)) this.#groupsByApp.add(app, name);
  }

  /** Applies the steps to this state, as the store applies them. */
  applySteps(steps: readonly Step[]): void {
    for (const { kind, name, after } of steps) this.set(kind, name, after);
  }
}
