/** Which groups list each app. Most apps are in one group, so a set is made only for a second one. */
export class GroupsByApp {
  readonly #groups = new Map<string, string | Set<string>>();

  /** Names of the groups that list the app. */
  of(app: string): Iterable<string> {
    const groups = this.#groups.get(app);
    if (groups === undefined) return [];
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
    if (groups === group) this.#groups.delete(app);
    if (!(groups instanceof Set)) return;
    groups.delete(group);
    if (groups.size === 0) this.#groups.delete(app);
  }
}
