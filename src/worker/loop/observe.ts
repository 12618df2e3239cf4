import {
  type ContainerDetails,
  type ContainerSummary,
  type Engine,
  EngineError,
  type Image,
} from '../engine/engine.ts';
import { exactReference } from '../engine/references.ts';
import { type Labelled, readLabels, readNebulaLabels, roleOf } from '../plan/labels.ts';
import type { Actual, Container, Foreign, Role } from '../plan/model.ts';

/** What decides which containers are this worker's. */
export interface Ownership {
  worker: string;
  prefix: string;
  /** Whether a container of Nebula's worker with this app is taken over. */
  takesOver(app: string): boolean;
}

/** Details that were asked for earlier, by container. */
export type Inspected = Map<string, { key: string; details: ContainerDetails }>;

/** Fresh details change without the list showing it: restarts. They are asked for while an app changes. */
export interface Attention {
  /** Whether an app's containers are looked at closely. */
  isChanging(app: string): boolean;
  /** References of the wanted apps. */
  references: readonly string[];
}

/**
 * Looks at the engine once. Rejects with an `EngineError` if it does not list its containers; what else it does not say
 * concerns only what needs it.
 */
export async function observe(
  engine: Engine,
  ownership: Ownership,
  attention: Attention,
  inspected: Inspected,
): Promise<Actual> {
  const [summaries, networkList, imageList] = await Promise.all([
    engine.containers(),
    part(engine.networks(), 'networks'),
    part(engine.images(), 'images'),
  ]);
  const foreign: Foreign[] = [];
  const unclear = new Map<string, string>();
  const own = summaries.flatMap((summary) => {
    const labelled = labelledBy(summary, ownership);
    if (labelled === null) foreign.push(foreignOf(summary, ownership.worker));
    return labelled === null ? [] : [{ summary, labelled }];
  });
  const containers = await Promise.all(
    own.map(({ summary, labelled }) =>
      describe(engine, summary, labelled, attention, inspected).catch((error: unknown) => {
        if (!isPartial(error)) throw error;
        unclear.set(labelled.app, `the engine does not say what ${summary.name} is like: ${error.message}`);
        return containerOf(summary, labelled, inspected.get(summary.id)?.details ?? null);
      }),
    ),
  );
  forgetGone(inspected, summaries);
  const networks = networkList.value ?? [];
  const blind = imageList.problem ?? networkList.problem;
  const images = imagesOf(imageList.value ?? [], attention.references);
  return { containers, foreign, networks, images, blind, unclear };
}

/** What a list has, or why the engine does not give it although it answers. Rejects if it does not. */
async function part<T>(list: Promise<T>, what: string): Promise<{ value: T | null; problem: string | null }> {
  try {
    return { value: await list, problem: null };
  } catch (error) {
    if (!isPartial(error)) throw error;
    return { value: null, problem: `the engine does not list its ${what}: ${error.message}` };
  }
}

/** Whether the engine answers other calls in spite of this error. */
function isPartial(error: unknown): error is EngineError {
  return error instanceof EngineError && error.code !== 'unavailable';
}

function imagesOf(images: readonly Image[], references: readonly string[]): Actual['images'] {
  const tags = new Map(
    images.flatMap(({ id, tags: own, digests }) => [...own, ...digests].map((tag) => [tag, id])),
  );
  const byReference = new Map(
    references.flatMap((reference) => {
      const id = tags.get(reference) ?? idOf(tags, reference);
      return id === undefined ? [] : [[reference, id]];
    }),
  );
  return { ids: new Set(images.map(({ id }) => id)), byReference, digests: digestsOf(images) };
}

/** An image that came from several registries has the digest of the first. */
function digestsOf(images: readonly Image[]): Map<string, string> {
  return new Map(
    images.flatMap(({ id, digests: [reference] }): [string, string][] => {
      const digest = reference?.split('@').at(-1);
      return digest === undefined ? [] : [[id, digest]];
    }),
  );
}

function foreignOf({ name, imageId, ports, labels }: ContainerSummary, worker: string): Foreign {
  const isNebula = readNebulaLabels(labels, name) !== null;
  const looksLike = readLabels(labels, worker) !== null ? 'own' : isNebula ? 'nebula' : null;
  return { name, imageId, ports, looksLike };
}

function idOf(tags: ReadonlyMap<string, string>, reference: string): string | undefined {
  const exact = exactReference(reference);
  for (const [tag, id] of tags) if (exactReference(tag) === exact) return id;
  return undefined;
}

/**
 * Returns what the labels and the name of a container of this worker say; null for any other. Labels alone do not make it
 * one: what somebody runs from an image that was committed from a container has them as well.
 */
function labelledBy(
  { labels, name }: ContainerSummary,
  { worker, prefix, takesOver }: Ownership,
): (Labelled & { role: Role }) | null {
  const own = readLabels(labels, worker);
  const nebula = own === null ? readNebulaLabels(labels, name) : null;
  const labelled = own ?? (nebula !== null && takesOver(nebula.app) ? nebula : null);
  if (labelled === null) return null;
  const { app, slot } = labelled;
  const role = roleOf(name, prefix, app, slot) ?? (own === null ? roleOf(name, '', app, slot) : null);
  return role === null ? null : { ...labelled, role };
}

async function describe(
  engine: Engine,
  summary: ContainerSummary,
  labelled: Labelled & { role: Role },
  { isChanging }: Attention,
  inspected: Inspected,
): Promise<Container> {
  const { id, state, health, lastExit } = summary;
  // Between two looks a container can have been started by hand and have ended in another way.
  const key = `${state} ${health} ${lastExit}`;
  const known = inspected.get(id);
  const isFresh = known !== undefined && known.key === key && !isChanging(labelled.app);
  const details = isFresh ? known.details : await engine.inspect(id);
  if (details !== null) inspected.set(id, { key, details });
  return containerOf(summary, labelled, details);
}

function containerOf(
  summary: ContainerSummary,
  labelled: Labelled & { role: Role },
  details: ContainerDetails | null,
): Container {
  const { id, name, image, imageId, state, health, ports } = summary;
  const {
    restarts = 0,
    exitCode = null,
    healthLimit = null,
    stopTimeout = null,
    restart = null,
  } = details ?? {};
  const seen = { id, name, image, imageId, state, health, ports };
  return { ...labelled, ...seen, restarts, exitCode, healthLimit, stopTimeout, restart };
}

function forgetGone(inspected: Inspected, summaries: readonly ContainerSummary[]): void {
  const ids = new Set(summaries.map(({ id }) => id));
  for (const id of inspected.keys()) if (!ids.has(id)) inspected.delete(id);
}
