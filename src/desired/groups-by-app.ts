/** Which groups list each app. Most apps are in one group, so a set is made only for a second one. */
export class GroupsByApp {
  readonly #groups = new Map<string, string | Set<string>>();

  copy(): GroupsByApp {
    const copy = new GroupsByApp();
    for (const [app, groups] of this.#groups)
      copy.#groups.set(app, typeof groups === 'string' ? groups : new Set(groups));
    return copy;
  }

  /** Returns the names of the groups that list the app. */
  of(app: string): Iterable<string> {
    const groups = this.#groups.get(app) ?? [];
    return typeof groups === 'string' ? [groups] : groups;
  }

  add(app: string, group: string): void {
    const groups = this.#groups.get(app);
    if (groups === undefined) this.#groups.set(app, group);
    else if (typeof groups !== 'string') groups.add(group);
    else if (groups !== group) this.#groups.set(app, new Set([groups, group]));
  }

  remove(app: string, group: string): void {
    const groups = this.#groups.get(app);
    const wasLast = typeof groups === 'object' ? groups.delete(group) && groups.size === 0 : groups === group;
    if (wasLast) this.#groups.delete(app);
  }
}
