import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { RealEngine } from '../real-engine.ts';
import type { EngineSuite } from './suite.ts';

/** A container as the engine itself shows it. */
export interface Seen {
  id: string;
  name: string;
  image: string;
  state: string;
}

/** All containers of an engine, by name. */
export async function containersOf(real: Pick<RealEngine, 'api'>): Promise<Map<string, Seen>> {
  const { body } = await real.api('GET', '/containers/json?all=true');
  const list = body as { Id: string; Names: string[]; Image: string; State: string }[];
  const all = list.map(({ Id: id, Names: [name = ''], Image: image, State: state }) => ({
    id,
    name: name.slice(1),
    image,
    state,
  }));
  return new Map(all.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((one) => [one.name, one]));
}

/** The ids of the containers that run, by name. */
export async function runningIds(real: Pick<RealEngine, 'api'>): Promise<Record<string, string>> {
  const running = [...(await containersOf(real)).values()].filter(({ state }) => state === 'running');
  return Object.fromEntries(running.map(({ name, id }) => [name, id]));
}

/** Starts a container of somebody else, from an image of the registry; resolves to its id. */
export async function makeForeign(
  { real, registry }: Pick<EngineSuite, 'real' | 'registry'>,
  name: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const image = registry.reference('v1');
  await real.api('POST', `/images/create?${new URLSearchParams({ fromImage: image })}`);
  const { body } = await real.api('POST', `/containers/create?name=${name}`, { Image: image, ...fields });
  const { Id: id } = body as { Id: string };
  await real.api('POST', `/containers/${id}/start`);
  return id;
}

/** Something that happened to a container. */
interface Happening {
  action: 'create' | 'start' | 'die' | 'destroy';
  id: string;
  /** The name that it had then. */
  name: string;
  image: string;
  /** Seconds since the Unix epoch. */
  time: number;
}

/** What happens to containers from now on, until the engine or the test ends. */
export interface History {
  all: readonly Happening[];
  /** `start web-1`, in the order in which they happened. */
  lines(): string[];
  count(action: Happening['action'], which?: (happening: Happening) => boolean): number;
}

/** Begins to note what happens to containers. */
export async function watch({ socket }: Pick<RealEngine, 'socket'>): Promise<History> {
  const all: Happening[] = [];
  const filters = JSON.stringify({ type: ['container'], event: ['create', 'start', 'die', 'destroy'] });
  await new Promise<void>((resolve, reject) => {
    const path = `/events?${new URLSearchParams({ filters })}`;
    const asked = request({ socketPath: socket, agent: false, path }, (response) => {
      let rest = '';
      response
        .setEncoding('utf8')
        .on('error', () => undefined)
        .on('data', (chunk: string) => {
          const lines = `${rest}${chunk}`.split('\n');
          rest = lines.pop() ?? '';
          all.push(...lines.filter((line) => line !== '').map(parse));
        });
      resolve();
    });
    asked.on('error', reject).end();
    onTestFinished(() => void asked.on('error', () => undefined).destroy());
  });
  return {
    all,
    lines: () => all.map(({ action, name }) => `${action} ${name}`),
    count: (action, which = () => true) => all.filter((one) => one.action === action && which(one)).length,
  };
}

function parse(line: string): Happening {
  const {
    Action: action,
    id,
    timeNano,
    Actor,
  } = JSON.parse(line) as {
    Action: Happening['action'];
    id: string;
    timeNano: number;
    Actor: { Attributes: Record<string, string> };
  };
  const { name = '', image = '' } = Actor.Attributes;
  return { action, id, name, image, time: timeNano / 1e9 };
}
