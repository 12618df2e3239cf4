import type { App } from '../desired/app.ts';
import type { DeviceGroup } from '../desired/device-group.ts';
import { Listing } from '../desired/listing.ts';
import { keyOf } from '../desired/name.ts';
import type { Step } from './step.ts';

/** What devices are told now: the contents that were applied last, without their ids. */
export class AppliedState {
  readonly #apps = new Map<string, App>();
  readonly #groups = new Map<string, DeviceGroup>();
  readonly #listing = new Listing();

  get isEmpty(): boolean {
    return this.#apps.size === 0 && this.#groups.size === 0;
  }

  app(name: string): App | undefined {
    return this.#apps.get(name);
  }

  group(name: string): DeviceGroup | undefined {
    return this.#groups.get(name);
  }

  /** Names of the groups whose applied content lists this app. */
  groupsListing(app: string): Iterable<string> {
    return this.#listing.of(app);
  }

  /** Keys of all applied objects. */
  keys(): string[] {
    const apps = Array.from(this.#apps.keys(), (name) => keyOf('app', name));
    return apps.concat(Array.from(this.#groups.keys(), (name) => keyOf('device_group', name)));
  }

  setApp(name: string, content: App | null): void {
    if (content === null) this.#apps.delete(name);
    else this.#apps.set(name, content);
  }

  setGroup(name: string, content: DeviceGroup | null): void {
    for (const app of this.#groups.get(name)?.apps ?? []) this.#listing.remove(app, name);
    if (content === null) this.#groups.delete(name);
    else this.#groups.set(name, content);
    for (const app of content?.apps ?? []) this.#listing.add(app, name);
  }

  /** Follows what the store applied. */
  applySteps(steps: readonly Step[]): void {
    for (const step of steps) {
      if (step.kind === 'app') this.setApp(step.name, step.after);
      else this.setGroup(step.name, step.after);
    }
  }
}
