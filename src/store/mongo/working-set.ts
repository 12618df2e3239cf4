import { FRESH_COUNTER } from '../../ids/counter.ts';
import { type CounterKind, kindOfCounter } from '../../ids/id-store.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { type Kind, keyOf } from '../../protocol/name.ts';
import { actRows } from '../act.ts';
import type { NewOid } from '../object-id.ts';
import type { ObjectRow } from '../rules/rows.ts';
import type { ActWork, CounterWork, ObjectContent, ObjectWork, StoredCounter, Work } from '../rules/work.ts';
import type { ActDocument, Change, DocumentCounter, FleetRoot, ObjectDocument } from './documents.ts';
import { RootWork } from './root-work.ts';

/** What a working set starts from. */
export interface WorkingSetOptions {
  root: FleetRoot;
  /** Every document that the work can touch; a document that is not among them does not exist. */
  documents: readonly ObjectDocument[];
  newOid: NewOid;
  defaults: AppDefaults;
}

/** Documents in memory on which the rules work. Collects the changes of one write. */
export class WorkingSet implements Work {
  readonly state: RootWork;
  readonly objects: ObjectWork;
  readonly counters: CounterWork;
  readonly acts: ActWork;
  readonly newOid: NewOid;
  readonly defaults: AppDefaults;
  readonly #version: number;
  readonly #documents: Map<string, ObjectDocument>;
  readonly #touched = new Set<string>();
  #acts: ActDocument[] = [];

  constructor({ root, documents, newOid, defaults }: WorkingSetOptions) {
    this.#version = root.version + 1;
    this.#documents = new Map(documents.map((document) => [document._id, document]));
    this.state = new RootWork(root);
    this.newOid = newOid;
    this.defaults = defaults;
    this.objects = this.#objectWork();
    this.counters = this.#counterWork();
    this.acts = {
      add: (act) => {
        const number = this.#version;
        this.#acts = actRows(act).map((body, part) => ({ _id: `${number}/${part}`, number, part, body }));
      },
    };
  }

  /** Returns the changes so far, with the version that the write will make. */
  changes(): Change[] {
    const objects = [...this.#touched].map((id): Change => {
      const document = this.#documents.get(id) as ObjectDocument;
      return { in: 'objects', document: { ...document, version: this.#version } };
    });
    return [...objects, ...this.#acts.map((document): Change => ({ in: 'acts', document }))];
  }

  #objectWork(): ObjectWork {
    const setStored = (kind: Kind, name: string, oid: string, object: ObjectContent): void => {
      const { content, hash, origin } = object;
      this.#change(kind, name, { stored: { oid, content, hash, origin } });
    };
    return {
      find: (kind, name) => rowOf(this.#find(kind, name)),
      groupNames: () =>
        [...this.#documents.values()]
          .filter(({ kind, stored }) => kind === 'device_group' && stored !== null)
          .map(({ name }) => name)
          .sort(),
      insert: setStored,
      update: (kind, name, object) =>
        setStored(kind, name, this.#find(kind, name)?.stored?.oid ?? '', object),
      setOrigin: (kind, name, origin) => {
        const stored = this.#find(kind, name)?.stored ?? null;
        if (stored !== null) this.#change(kind, name, { stored: { ...stored, origin } });
      },
      remove: (kind, name) => {
        const isStored = (this.#find(kind, name)?.stored ?? null) !== null;
        if (isStored) this.#change(kind, name, { stored: null });
        return isStored;
      },
    };
  }

  #counterWork(): CounterWork {
    const part = (kind: CounterKind, name: string): DocumentCounter | null => {
      const document = this.#find(kindOfCounter(kind), name);
      return (kind === 'prune' ? document?.prune : document?.own) ?? null;
    };
    const get = (kind: CounterKind, name: string): StoredCounter =>
      part(kind, name) ?? { ...FRESH_COUNTER, floor: this.state.defaultFloor, hash: null };
    const put = (kind: CounterKind, name: string, counter: StoredCounter, changed: number): void => {
      const { last, floor, hash } = counter;
      const stored = { last, floor, hash, changed };
      if (kind === 'prune') this.#change('device_group', name, { prune: stored });
      else this.#change(kind, name, { own: stored });
    };
    return {
      get,
      put,
      clearHash: (kind, name) => {
        const stored = part(kind, name);
        if (stored !== null) put(kind, name, { ...stored, hash: null }, stored.changed);
      },
      markSomeChanged: (changed) => {
        this.state.markAllChanged(changed);
        return false;
      },
    };
  }

  #find(kind: Kind, name: string): ObjectDocument | undefined {
    return this.#documents.get(keyOf(kind, name));
  }

  #change(kind: Kind, name: string, parts: Partial<ObjectDocument>): void {
    const _id = keyOf(kind, name);
    const blank = { _id, kind, name, version: 0, own: null, prune: null, stored: null };
    this.#documents.set(_id, { ...(this.#documents.get(_id) ?? blank), ...parts });
    this.#touched.add(_id);
  }
}

/** Returns the object of a document as the rules read it; undefined if the object is not applied. */
export function rowOf(document: ObjectDocument | undefined): ObjectRow | undefined {
  if (document === undefined || document.stored === null) return undefined;
  const { name, own, prune, stored } = document;
  const { oid, content, hash, origin } = stored;
  const { path, blob } = origin ?? { path: null, blob: null };
  const changed = Math.max(own?.changed ?? 0, prune?.changed ?? 0);
  return { name, oid, id: own?.last ?? 0, prune_id: prune?.last ?? 0, changed, content, hash, path, blob };
}
