import { expect } from 'vitest';
import type { App } from '../../../src/protocol/app.ts';
import type { SharedStore, Store } from '../../../src/store/objects/port.ts';

/** Keeps a copy of the applied objects, and reads only what changed if the store knows it. */
export class MarkFollower {
  readonly #isLate: boolean;
  #mark: string | null = null;
  #objects = new Map<string, unknown>();

  /** `isLate` plants a mistake: the mark is read after the changes. */
  constructor(isLate: boolean) {
    this.#isLate = isLate;
  }

  /** The copied contents by key. */
  get objects(): Record<string, unknown> {
    return Object.fromEntries(this.#objects);
  }

  /**
   * Brings the copy up to date, and checks that it is not older than the applied revision, which the image of the app `web`
   * names.
   */
  async follow(store: Store & SharedStore): Promise<void> {
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
