import type { ContentOfKind } from '../desired/content.ts';
import { KINDS, type Kind } from '../protocol/name.ts';

/** The file that an object's content was read from. Equal blobs are equal bytes. */
export interface FileOrigin {
  path: string;
  blob: string;
}

interface StepOf<K extends Kind> {
  kind: K;
  name: string;
  /** The content before and after the step, which always differs; null if the object does not exist. */
  before: ContentOfKind[K] | null;
  after: ContentOfKind[K] | null;
  /** The file that `after` was read from; null for a delete. */
  origin: FileOrigin | null;
}

export type AppStep = StepOf<'app'>;

/** A change of one object that devices must act on. Applying it raises the object's id, unless it is a delete. */
export type Step = { [K in Kind]: StepOf<K> }[Kind];

/** What a step does to its object. */
export type ChangeType = 'create' | 'update' | 'delete';

/** Returns what a step does to its object. */
export function changeTypeOf(step: Step): ChangeType {
  if (step.before === null) return 'create';
  return step.after === null ? 'delete' : 'update';
}

/**
 * Returns the place of a change in the order in which changes are made: those with a lower rank come first. Creates and
 * updates are in the order of `KINDS`, deletes come after them, in the opposite order: a group never names an app that is not there.
 */
export function rankOf(kind: Kind, deletes: boolean): number {
  const place = KINDS.indexOf(kind);
  return deletes ? 2 * KINDS.length - 1 - place : place;
}

function rank({ kind, after }: Step): number {
  return rankOf(kind, after === null);
}

/** Returns the steps in the order in which they are applied and shown; equal steps always get the same order. */
export function orderSteps(steps: readonly Step[]): Step[] {
  return [...steps].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}
