import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseObject } from '../../../src/desired/parse.ts';
import type { App } from '../../../src/protocol/app.ts';
import type { DeviceGroup } from '../../../src/protocol/device-group.ts';
import { keyOf } from '../../../src/protocol/name.ts';
import type { Reader } from '../../../src/source/source.ts';
import type { Act } from '../../../src/store/act.ts';
import type { OperationContext, Store } from '../../../src/store/objects/port.ts';
import { buildEngine, type Engine } from '../../support/engine.ts';
import { anyCommit, DEFAULTS, type Files } from '../../support/fleet.ts';

const FILES = {
  'apps/a.yaml': 'container_image: i:1\n',
  'apps/b.yaml': 'container_image: i:1\n',
  'apps/c.yaml': 'container_image: i:2\n',
  'device-groups/g.yaml': 'apps: [a, b]\n',
  'device-groups/h.yaml': 'apps: [c, b]\n',
};
const GROUPS = ['g', 'h'];
const CONTEXT: OperationContext = { actor: 'ana', requestId: 'r', at: 1_700_000_000_000 };

/** What the devices of a group get, but for the `_id` of MongoDB; null if there is no such group. */
type Info = { apps: unknown[]; list: string[]; groupId: number; pruneId: number } | null;

/** Rebuilds the fleet from acts alone: its ids, and the blobs that it names. */
class Replay {
  readonly #objects = new Map<string, { id: number; blob: string | null }>();

  follow({ changes }: Act): void {
    for (const { kind, name, change, id, after } of changes) {
      const key = `${kind}/${name}`;
      const blob = after?.blob ?? this.#objects.get(key)?.blob ?? null;
      if (change === 'delete' || id === null) this.#objects.delete(key);
      else this.#objects.set(key, { id, blob });
    }
  }

  async info(group: string, reader: Reader): Promise<Info> {
    const found = this.#objects.get(keyOf('device_group', group));
    if (found === undefined) return null;
    const list = (await this.#content<DeviceGroup>('device_group', group, reader)).apps;
    const apps = [];
    for (const name of list) {
      const content = await this.#content<App>('app', name, reader);
      apps.push({ name, id: this.#objects.get(keyOf('app', name))?.id, ...content });
    }
    return { apps, list, groupId: found.id, pruneId: this.#objects.get(`prune/${group}`)?.id ?? 0 };
  }

  async #content<C>(kind: 'app' | 'device_group', name: string, reader: Reader): Promise<C> {
    const blob = this.#objects.get(keyOf(kind, name))?.blob ?? '';
    const read = await reader.blob(blob, 1_000_000);
    if (!('bytes' in read)) throw new Error(`no blob of ${kind} ${name}`);
    const parsed = parseObject(kind, read.bytes, DEFAULTS);
    if (!parsed.ok) throw new Error(`the blob of ${kind} ${name} is not valid`);
    return parsed.content as C;
  }
}

async function infoOf(store: Store, name: string): Promise<Info> {
  const info = await store.groupInfo(name);
  if (info === null) return null;
  const { group, apps } = info;
  return {
    apps: apps.map((app) => ({ name: app.name, id: app.appId, ...app.content })),
    list: group.content.apps,
    groupId: group.deviceGroupId,
    pruneId: group.pruneId,
  };
}

/** Something that happens to a fleet. */
type Event = (engine: Engine) => Promise<unknown>;

const named = (name: string, run: Event): Event => Object.assign(run, { [fc.toStringMethod]: () => name });

const commitOf = (files: Files): Event =>
  named(JSON.stringify(files), ({ commit, repository }) => {
    const isThere = (path: string): boolean => existsSync(join(repository.folder, 'desired-state', path));
    const possible = Object.entries(files).filter(([path, text]) => text !== null || isThere(path));
    return commit(Object.fromEntries(possible));
  });

const move = (from: string, to: string): Event =>
  named(`move ${from} to ${to}`, async ({ repository, commit }) => {
    const text = await readFile(join(repository.folder, 'desired-state', from), 'utf8').catch(() => null);
    if (text !== null && from !== to) await commit({ [from]: null, [to]: text });
  });

/** Takes back the last commit, if there is another one before it. */
const rewind = named('rewind', async ({ repository }) => {
  if ((await repository.git('rev-list', '--max-count=2', 'HEAD')).includes('\n'))
    await repository.git('reset', '--quiet', '--hard', 'HEAD~1');
});

const app = fc.constantFrom('a', 'b', 'c');
const events = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: anyCommit.map(commitOf) },
    {
      weight: 1,
      arbitrary: fc.tuple(app, app).map(([from, to]) => move(`apps/${from}.yaml`, `apps/${to}.yaml`)),
    },
    { weight: 1, arbitrary: app.map((name) => move(`apps/${name}.yaml`, `apps/moved/${name}.yaml`)) },
    { weight: 1, arbitrary: fc.constant(move('device-groups/g.yaml', 'device-groups/h.yaml')) },
    { weight: 1, arbitrary: fc.constant(rewind) },
  ),
  { minLength: 1, maxLength: 3 },
);
const operations = fc.array(
  fc.oneof(
    app.map((name) => named(`restart ${name}`, ({ store }) => store.restartApp(name, CONTEXT))),
    fc.constant(named('prune g', ({ store }) => store.pruneGroup('g', CONTEXT))),
    fc.constant(named('prune all', ({ store }) => store.pruneAll(CONTEXT))),
  ),
  { maxLength: 1 },
);

it('acts replayed, with the blobs that they name, give what each group was served after each act', async () => {
  const engine = await buildEngine({ files: FILES });
  const { store, source, reconciler } = engine;
  const replay = new Replay();
  const seen = { act: 0, groups: 0 };
  const compare = async (): Promise<void> => {
    for (let act = await store.nextAct(seen.act); act !== null; act = await store.nextAct(seen.act)) {
      replay.follow(act);
      seen.act = act.number;
    }
    for (const group of GROUPS) {
      const served = await infoOf(store, group);
      expect(await replay.info(group, source.reader), `${group} after act ${seen.act}`).toEqual(served);
      if (served !== null && served.apps.length > 0) seen.groups += 1;
    }
  };
  // What is applied first stays, whatever becomes of its files: otherwise there can be no group to compare at all.
  await reconciler.reconcile();
  await compare();
  seen.groups = 0;
  await fc.assert(
    fc.asyncProperty(events, operations, async (some, others) => {
      for (const each of some) await each(engine);
      await reconciler.reconcile();
      await compare();
      for (const each of others) await each(engine);
      await compare();
    }),
    { numRuns: 40, endOnFailure: true },
  );
  expect(seen.groups).toBeGreaterThan(0);
});
