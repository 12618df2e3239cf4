import { type Content, namedIn } from '../desired/content.ts';
import { Holders } from '../desired/holders.ts';
import type { App } from '../protocol/app.ts';
import type { Device } from '../protocol/device-fields.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { KINDS, type Kind, keyOf } from '../protocol/name.ts';
import type { Step } from './step.ts';

/** The content of every applied object, without its ids: what devices are served. */
export class AppliedState {
  #contents: Readonly<Record<Kind, Map<string, Content>>> = {
    app: new Map(),
    device_group: new Map(),
    device: new Map(),
  };
  /** The objects that name one of a kind. */
  #holders = { app: new Holders(), device_group: new Holders() };

  /** Returns a copy, which stays as it is. */
  copy(): AppliedState {
    const copy = new AppliedState();
    const { app, device_group, device } = this.#contents;
    copy.#contents = { app: new Map(app), device_group: new Map(device_group), device: new Map(device) };
    const holders = this.#holders;
    copy.#holders = { app: holders.app.copy(), device_group: holders.device_group.copy() };
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

  device(name: string): Device | undefined {
    return this.content('device', name) as Device | undefined;
  }

  /** Returns the names of the groups whose applied content lists this app. */
  groupsListing(app: string): Iterable<string> {
    return this.#holders.app.of(app);
  }

  /** Returns the names of the devices whose applied content names this group. */
  devicesIn(group: string): Iterable<string> {
    return this.#holders.device_group.of(group);
  }

  /** Returns the keys of all applied objects. */
  keys(): string[] {
    return KINDS.flatMap((kind) => Array.from(this.#contents[kind].keys(), (name) => keyOf(kind, name)));
  }

  /** Sets the content of an object; null removes it. */
  set(kind: Kind, name: string, content: Content | null): void {
    const contents = this.#contents[kind];
    const [before, after] = [namedIn(contents.get(name)), namedIn(content)];
    for (const named of before.names) this.#holders[before.kind].remove(named, name);
    if (content === null) contents.delete(name);
    else contents.set(name, content);
    for (const named of after.names) this.#holders[after.kind].add(named, name);
  }

  /** Applies the steps to this state, as the store applies them. */
  applySteps(steps: readonly Step[]): void {
    for (const { kind, name, after } of steps) this.set(kind, name, after);
  }
}
