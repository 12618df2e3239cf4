import { FRESH_COUNTER, raise } from '../../../ids/counter.ts';
import { type CounterKind, kindOfCounter } from '../../../ids/id-store.ts';
import type { AppDefaults } from '../../../protocol/app.ts';
import { type Kind, keyOf } from '../../../protocol/name.ts';
import type { NewAct } from '../../act.ts';
import {
  type AppliedRow,
  type FleetObject,
  type FleetState,
  isApplied,
  placeOf,
  type StoredCounter,
} from '../../fleet.ts';
import type { NewOid } from '../../object-id.ts';

/** What a working set starts from. */
export interface Loaded {
  state: FleetState;
  /** Every object that the rules can touch; one that is not among them does not exist. */
  objects: readonly FleetObject[];
  /** Makes the `_id` of objects. */
  newOid: NewOid;
  /** The values of fields that were added to the product after an app was stored. */
  defaults: AppDefaults;
}

/** What one write changes. */
export interface Changes {
  /** Fields of the state; null if none changes. */
  fields: Partial<FleetState> | null;
  objects: { before: FleetObject | undefined; after: FleetObject }[];
  act: NewAct | null;
}

/**
 * A part of the fleet in memory on which the rules of this folder work. They decide how objects, counters and state change;
 * each store loads what they can touch, and makes the changes of one write atomic.
 */
export class WorkingSet {
  readonly newOid: NewOid;
  readonly defaults: AppDefaults;
  /** The act of this write. */
  act: NewAct | null = null;
  readonly #state: FleetState;
  #fields: Partial<FleetState> | null = null;
  readonly #objects: Map<string, FleetObject>;
  /** The objects that were changed, as they were loaded. */
  readonly #before = new Map<string, FleetObject | undefined>();

  constructor({ state, objects, newOid, defaults }: Loaded) {
    this.#state = { ...state };
    this.#objects = new Map(objects.map((object) => [keyOf(object.kind, object.name), object]));
    this.newOid = newOid;
    this.defaults = defaults;
  }

  get state(): Readonly<FleetState> {
    return this.#state;
  }

  /** The applied revision; null if there is none. */
  get revision(): string | null {
    return this.#state.applied?.revision ?? null;
  }

  set(fields: Partial<FleetState>): void {
    this.#fields = Object.assign(this.#fields ?? {}, fields);
    Object.assign(this.#state, fields);
  }

  /** Raises the id sequence above its stored value and `above`, and returns it. */
  nextIdSequence(above = 0): number {
    const idSequence = Math.max(this.#state.idSequence, above) + 1;
    this.set({ idSequence });
    return idSequence;
  }

  /** Returns an object that is applied. */
  find(kind: Kind, name: string): AppliedRow | undefined {
    const object = this.#objects.get(keyOf(kind, name));
    return isApplied(object) ? object : undefined;
  }

  /** Returns the names of applied objects in ascending order. */
  names(kind: Kind): string[] {
    const applied = [...this.#objects.values()].filter((object) => object.kind === kind && isApplied(object));
    return applied.map(({ name }) => name).sort();
  }

  /** Sets what is stored of an object; null removes it. */
  store(kind: Kind, name: string, stored: FleetObject['stored']): void {
    this.#change(kind, name, { stored });
  }

  /** Returns a counter; a fresh one for a name without a counter. */
  counter(kind: CounterKind, name: string): StoredCounter {
    const object = this.#objects.get(keyOf(kindOfCounter(kind), name));
    const fresh = { ...FRESH_COUNTER, floor: this.#state.defaultFloor, hash: null, changed: 0 };
    return object?.[placeOf(kind)] ?? fresh;
  }

  putCounter(kind: CounterKind, name: string, counter: StoredCounter): void {
    this.#change(kindOfCounter(kind), name, { [placeOf(kind)]: counter });
  }

  /** Raises a counter at this id sequence, and returns its new id. */
  raise(kind: CounterKind, name: string, changed: number): number {
    const counter = raise(this.counter(kind, name));
    this.putCounter(kind, name, { ...counter, hash: null, changed });
    return counter.last;
  }

  changes(): Changes {
    const objects = Array.from(this.#before, ([key, before]) => {
      // Whatever was changed is there.
      return { before, after: this.#objects.get(key) as FleetObject };
    });
    return { fields: this.#fields, objects, act: this.act };
  }

  #change(kind: Kind, name: string, parts: Partial<FleetObject>): void {
    const key = keyOf(kind, name);
    const object = this.#objects.get(key);
    if (object !== undefined && this.#before.has(key)) {
      Object.assign(object, parts);
      return;
    }
    this.#before.set(key, object);
    this.#objects.set(key, { ...(object ?? { kind, name, own: null, prune: null, stored: null }), ...parts });
  }
}
