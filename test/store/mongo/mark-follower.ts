import { expect } from 'vitest';
import type { App } from '../../../src/desired/app.ts';
import type { Store } from '../../../src/store/store.ts';

/** A manager that keeps what is applied, and reads what changed alone where the store can tell. */
export class MarkFollower {
  readonly #isLate: boolean;
  #mark: string | null = null;
  #objects = new Map<string, unknown>();

  /** `isLate` plants a mistake: the mark is taken after what changed was read. */
  constructor(isLate: boolean) {
    this.#isLate = isLate;
  }

  /** Contents by key. */
  get objects(): Record<string, unknown> {
    return Object.fromEntries(this.#objects);
  }

  /** Looks once. What was applied before is known after it: the images of the app `web` name the revision. */
  async follow(store: Store): Promise<void> {
    const { mark, applied } = await store.state();
    const changes = this.#mark === null ? null : await store.changedObjects(this.#mark);
    const objects = changes?.objects ?? (await store.appliedObjects());
    const late = this.#isLate ? (await store.state()).mark : mark;
    if (changes === null) this.#objects = new Map();
    for (const { kind, name } of changes?.gone ?? []) this.#objects.delete(`${kind}/${name}`);
    for (const { kind, name, content } of objects) this.#objects.set(`${kind}/${name}`, content);
    this.#mark = late;
    const web = this.#objects.get('app/web') as App;
    expect(Number(web.container_image.split(':')[1])).toBeGreaterThanOrEqual(Number(applied?.revision));
  }
}
