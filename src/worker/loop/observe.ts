import type { ContainerDetails, ContainerSummary, Engine, Image } from '../engine/engine.ts';
import { exactReference } from '../engine/references.ts';
import { containerName, readLabels, readNebulaLabels, roleOf } from '../plan/labels.ts';
import { type Actual, type Container, type Foreign, ROLES } from '../plan/model.ts';

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

/** Looks at the engine once. Rejects with an `EngineError`. */
export async function observe(
  engine: Engine,
  ownership: Ownership,
  attention: Attention,
  inspected: Inspected,
): Promise<Actual> {
  const [summaries, networks, images] = await Promise.all([
    engine.containers(),
    engine.networks(),
    engine.images(),
  ]);
  const containers: Container[] = [];
  const foreign: Foreign[] = [];
  for (const summary of summaries) {
    const labelled = labelledBy(summary, ownership);
    if (labelled === null) foreign.push(foreignOf(summary));
    else containers.push(await describe(engine, summary, labelled, ownership, attention, inspected));
  }
  forgetGone(inspected, summaries);
  const tags = new Map(
    images.flatMap(({ id, tags, digests }) => [...tags, ...digests].map((tag) => [tag, id])),
  );
  const byReference = new Map(
    attention.references.flatMap((reference) => {
      const id = tags.get(reference) ?? idOf(tags, reference);
      return id === undefined ? [] : [[reference, id]];
    }),
  );
  const ids = new Set(images.map(({ id }) => id));
  return { containers, foreign, networks, images: { ids, byReference, digests: digestsOf(images) } };
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

function foreignOf({ name, imageId, ports, labels }: ContainerSummary): Foreign {
  return { name, imageId, ports, isNebula: readNebulaLabels(labels, name) !== null };
}

function idOf(tags: ReadonlyMap<string, string>, reference: string): string | undefined {
  const exact = exactReference(reference);
  for (const [tag, id] of tags) if (exactReference(tag) === exact) return id;
  return undefined;
}

function labelledBy({ labels, name }: ContainerSummary, { worker, takesOver }: Ownership) {
  const own = readLabels(labels, worker);
  if (own !== null) return own;
  const nebula = readNebulaLabels(labels, name);
  return nebula !== null && takesOver(nebula.app) ? nebula : null;
}

async function describe(
  engine: Engine,
  summary: ContainerSummary,
  labelled: NonNullable<ReturnType<typeof readLabels>>,
  { prefix }: Ownership,
  { isChanging }: Attention,
  inspected: Inspected,
): Promise<Container> {
  const { id, name, image, imageId, state, health, lastExit, ports } = summary;
  // Between two looks a container can have been started by hand and have ended in another way.
  const key = `${state} ${health} ${lastExit}`;
  const known = inspected.get(id);
  const isFresh = known !== undefined && known.key === key && !isChanging(labelled.app);
  const details = isFresh ? known.details : await engine.inspect(id);
  if (details !== null) inspected.set(id, { key, details });
  const { restarts = 0, exitCode = null, healthLimit = null, stopTimeout = null } = details ?? {};
  const expected = ROLES.map((role) => containerName(prefix, labelled.app, labelled.slot, role));
  const isStray = !expected.includes(name) && labelled.source !== '';
  const role = roleOf(name);
  const seen = { id, name, image, imageId, state, health, ports };
  const figures = { ...seen, restarts, exitCode, healthLimit, stopTimeout };
  return { ...labelled, ...figures, role, isStray };
}

function forgetGone(inspected: Inspected, summaries: readonly ContainerSummary[]): void {
  const ids = new Set(summaries.map(({ id }) => id));
  for (const id of inspected.keys()) if (!ids.has(id)) inspected.delete(id);
}
