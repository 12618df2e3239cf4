import type { HistoryPoint } from '../../ids/id-store.ts';
import type { StateWork } from '../rules/work.ts';
import type { FleetRoot } from './documents.ts';

/** Collects the fields of the root that a write changes. */
export class RootWork implements StateWork {
  readonly #root: FleetRoot;
  #fields: Partial<FleetRoot> = {};

  constructor(root: FleetRoot) {
    this.#root = root;
  }

  /** The fields that were set. */
  get fields(): Partial<FleetRoot> {
    return this.#fields;
  }

  get defaultFloor(): number {
    return this.#current().defaultFloor;
  }

  lastClaim(): { sequence: number; claimed: string | null } {
    return this.#current();
  }

  claim(revision: string): void {
    this.#set({ sequence: this.#current().sequence + 1, claimed: revision });
  }

  setAttempted(revision: string, at: number): void {
    this.#set({ attempted: { revision, at } });
  }

  idSequence(): number {
    return this.#current().idSequence;
  }

  nextIdSequence(above = 0): number {
    const idSequence = Math.max(this.#current().idSequence, above) + 1;
    this.#set({ idSequence });
    return idSequence;
  }

  appliedRevision(): string | null {
    return this.#current().applied?.revision ?? null;
  }

  setApplied(revision: string, at: number, rules: string): void {
    this.#set({ applied: { revision, at }, rules });
  }

  clearApplied(): void {
    this.#set({ applied: null, rules: null });
  }

  setLastOid(lastOid: string): void {
    this.#set({ lastOid });
  }

  setSeeded(seededFrom: HistoryPoint, defaultFloor: number): void {
    this.#set({ seededFrom, defaultFloor: Math.max(this.defaultFloor, defaultFloor) });
  }

  /** Makes every counter count as changed at this id sequence, without writing any of them. */
  markAllChanged(changed: number): void {
    this.#set({ allChanged: changed });
  }

  #current(): FleetRoot {
    return { ...this.#root, ...this.#fields };
  }

  #set(fields: Partial<FleetRoot>): void {
    this.#fields = { ...this.#fields, ...fields };
  }
}
