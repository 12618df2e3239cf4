import type { RealEngine } from '../real-engine.ts';

/** A container as the engine itself tells it. */
export interface Seen {
  id: string;
  /** Id of its image. */
  image: string;
  state: string;
  /** When it started last: differs after each start. */
  started: string;
  /** How often the engine started it again by itself. */
  restarts: number;
}

interface Inspection {
  Id: string;
  Name: string;
  Image: string;
  RestartCount: number;
  State: { Status: string; StartedAt: string };
}

/** Resolves to all containers of an engine, by name. */
export async function containersOf(real: RealEngine): Promise<Record<string, Seen>> {
  const { body } = await real.api('GET', '/containers/json?all=true');
  const found = await Promise.all(
    (body as { Id: string }[]).map(({ Id }) => real.api('GET', `/containers/${Id}/json`)),
  );
  const there = found.filter(({ status }) => status === 200).map((reply) => reply.body as Inspection);
  const sorted = there.toSorted((a, b) => (a.Name < b.Name ? -1 : 1));
  return Object.fromEntries(
    sorted.map(({ Id, Name, Image, RestartCount, State }) => [
      Name.slice(1),
      { id: Id, image: Image, state: State.Status, started: State.StartedAt, restarts: RestartCount },
    ]),
  );
}

/** Resolves to the id of the image that a reference stands for on an engine; null if it has none. */
export async function imageId(real: RealEngine, reference: string): Promise<string | null> {
  const { status, body } = await real.api('GET', `/images/${encodeURIComponent(reference)}/json`);
  return status === 200 ? (body as { Id: string }).Id : null;
}
