import { type Entries, LayeredMap, LayeredSet, type Members } from './layered.ts';

/** Which groups list each app. Most apps are in one group, so a set is made only for a second one. */
export class GroupsByApp {
  readonly #groups: Entries<string, string | Members<string>>;
  /** In a layer: the sets that belong to it, and may be changed; all others belong to the base. Null without a base. */
  readonly #own: WeakSet<Members<string>> | null;

  /** With a `base`, this is a layer over it, and never changes it. */
  constructor(base: GroupsByApp | null = null) {
    this.#groups = base === null ? new Map() : new LayeredMap(base.#groups);
    this.#own = base === null ? null : new WeakSet();
  }

  /** Returns the names of the groups that list the app. */
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
    const remaining = this.#changeable(app, groups);
    remaining.delete(group);
    // A layer can keep an empty set: to find out whether it is empty, it would have to go through all layers below.
    if (remaining instanceof Set && remaining.size === 0) this.#groups.delete(app);
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
