import type { StoreState } from '../store.ts';
import type { Connections } from './connection.ts';
import type { CheckPlace } from './place.ts';
import { SqliteStore } from './store.ts';
import type { Reads, Writes } from './tables.ts';

/** A store that counts as away once its files went away: passes, probes and looks for devices ask for its state first. */
export class PlacedStore extends SqliteStore {
  readonly #checkPlace: CheckPlace;

  constructor(connections: Connections, reads: Reads, writes: Writes, checkPlace: CheckPlace) {
    super(connections, reads, writes);
    this.#checkPlace = checkPlace;
  }

  override async state(): Promise<StoreState> {
    this.#checkPlace();
    return super.state();
  }

  /** The state also where the files went away: which ids were given until then has to be recorded all the more. */
  lastState(): Promise<StoreState> {
    return super.state();
  }
}
