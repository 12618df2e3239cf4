/**
 * Which groups list each app; or, with groups in place of apps, which devices are in each group. Most apps are in one group,
 * so a set is made only for a second one.
 */
export class Holders {
  readonly #groups = new Map<string, string | Set<string>>();
  /** Has the groups of the apps that are not in `#groups`. */
  #below: Holders | null = null;

  copy(): Holders {
    const copy = this.#below?.copy() ?? new Holders();
    for (const [app, groups] of this.#groups) copy.#groups.set(app, ownGroups(groups));
    return copy;
  }

  /** Returns the groups over these: changes there are not seen here, and changes here are seen there. */
  over(): Holders {
    const over = new Holders();
    over.#below = this;
    return over;
  }

  /** Returns the names of the groups that list the app. */
  of(app: string): Iterable<string> {
    const groups = this.#find(app) ?? [];
    return typeof groups === 'string' ? [groups] : groups;
  }

  add(app: string, group: string): void {
    const groups = this.#own(app);
    if (groups === undefined) this.#groups.set(app, group);
    else if (typeof groups !== 'string') groups.add(group);
    else if (groups !== group) this.#groups.set(app, new Set([groups, group]));
  }

  remove(app: string, group: string): void {
    const groups = this.#own(app);
    const wasLast = typeof groups === 'object' ? groups.delete(group) && groups.size === 0 : groups === group;
    if (!wasLast) return;
    if (this.#below === null) this.#groups.delete(app);
    else this.#groups.set(app, new Set());
  }

  #find(app: string): string | Set<string> | undefined {
    return this.#groups.get(app) ?? (this.#below === null ? undefined : this.#below.#find(app));
  }

  /** Like `#find`, for a change: the set is not that of `#below`. */
  #own(app: string): string | Set<string> | undefined {
    const groups = this.#find(app);
    if (groups !== undefined && !this.#groups.has(app)) this.#groups.set(app, ownGroups(groups));
    return this.#groups.get(app);
  }
}

function ownGroups(groups: string | Set<string>): string | Set<string> {
  return typeof groups === 'string' ? groups : new Set(groups);
}
