import { type Entries, LayeredMap, LayeredSet, type Members } from './layered.ts';

/** Which groups list each app. Most apps are in one group, so a set is made only for a second one. */
export class GroupsByApp {
  readonly #groups: Entries<string, string | Members<string>>;
  /** Of a layer: the sets that are its own; all others belong to what lies below. */
  readonly #own: WeakSet<Members<string>> | null;

  /** `base`: what this is a layer over, which stays as it is. */
  constructor(base: GroupsByApp | null = null) {
    this.#groups = base === null ? new Map() : new LayeredMap(base.#groups);
    this.#own = base === null ? null : new WeakSet();
  }

  /** Names of the groups that list the app. */
  of(app: string): Iterable<string> {
    const groups = this.#groups.get(app);
    if (groups === undefined) return [];
    return typeof groups === 'string' ? [groups] : groups;
  }

  add(app: string, group: string): void {
    const groups = this.#groups.get(app);
    if (groups === undefined) this.#groups.set(app, group);
    else if (typeof groups !== 'string') this.#changeable(app, groups).add(group);
    else if (groups !== group) this.#keep(app, new Set([groups, group]));
  }

  remove(app: string, group: string): void {
    const groups = this.#groups.get(app);
    if (groups === undefined) return;
    if (groups === group) this.#groups.delete(app);
    if (typeof groups === 'string') return;
    const left = this.#changeable(app, groups);
    left.delete(group);
    // A layer may keep an empty set: finding out whether it is empty would mean going through all layers below.
    if (left instanceof Set && left.size === 0) this.#groups.delete(app);
  }

  #changeable(app: string, groups: Members<string>): Members<string> {
    return this.#own === null || this.#own.has(groups) ? groups : this.#keep(app, new LayeredSet(groups));
  }

  #keep(app: string, groups: Members<string>): Members<string> {
    this.#groups.set(app, groups);
    this.#own?.add(groups);
    return groups;
  }
}
