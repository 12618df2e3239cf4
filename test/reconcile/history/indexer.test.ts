import { describe, expect, it, onTestFinished } from 'vitest';
import { NO_FAULTS } from '../../../src/faults.ts';
import { appDefaults } from '../../../src/protocol/app.ts';
import { createIndexer, type Indexer } from '../../../src/reconcile/history/indexer.ts';
import { createPast, type Past } from '../../../src/reconcile/history/past.ts';
import type { Entry, ListedEntry } from '../../../src/store/entry.ts';
import type { HistoryStore } from '../../../src/store/history/port.ts';
import { buildEngine, type Engine, type EngineOptions, testReconciler, wrap } from '../../support/engine.ts';
import { DEFAULTS } from '../../support/fleet.ts';

const V1 = 'container_image: web:1\n';
const V2 = 'container_image: web:2\n';
const V3 = 'container_image: web:3\n';
const LAB = 'apps: [web]\n';

interface Indexed extends Engine {
  indexer: Indexer;
  failures: unknown[];
  counts: { recoveries: number };
  /** Runs a pass, and has everything indexed. */
  pass(): Promise<void>;
}

function indexerOf(
  { source, store, reconciler }: Pick<Engine, 'source' | 'store' | 'reconciler'>,
  failures: unknown[],
  memory = () => reconciler.passes.memory(),
  onRecovered = (): void => undefined,
): Indexer {
  return createIndexer({
    reader: source.reader,
    store,
    progress: store,
    defaults: DEFAULTS,
    folder: 'desired-state',
    forge: null,
    memory,
    onFailure: (error) => failures.push(error),
    onRecovered,
    faults: NO_FAULTS,
    now: Date.now,
  });
}

async function indexed(options: EngineOptions): Promise<Indexed> {
  const engine = await buildEngine(options);
  const failures: unknown[] = [];
  const counts = { recoveries: 0 };
  const indexer = indexerOf(engine, failures, undefined, () => {
    counts.recoveries += 1;
  });
  onTestFinished(() => indexer.close());
  const pass = async (): Promise<void> => {
    const outcome = await engine.reconciler.reconcile();
    if (!outcome.ok && outcome.error.kind === 'refused' && outcome.head?.revision)
      await indexer.addRefusal(outcome.head.revision);
    await settled(indexer, engine.store);
  };
  return { ...engine, indexer, failures, counts, pass };
}

/** Waits until everything is indexed, older history too. */
async function settled(indexer: Indexer, store: HistoryStore): Promise<void> {
  do await indexer.catchUp();
  while (((await store.historyState())?.fill ?? null) !== null);
}

async function all(store: HistoryStore): Promise<ListedEntry[]> {
  const query = { keys: [], kinds: null, since: null, until: null, text: null };
  return (await store.entries(query, null, 1000)).entries;
}

/** The lowest id of each kind and object: files that are older than their manager begin with ids that look like times. */
function lowestIds(entries: readonly Entry[]): Map<string, number> {
  const lowest = new Map<string, number>();
  for (const { object, ids } of entries.flatMap(({ changes }) => changes)) {
    for (const [name, id] of Object.entries(ids ?? {})) {
      const key = `${object} ${name}`;
      lowest.set(key, Math.min(lowest.get(key) ?? id, id));
    }
  }
  return lowest;
}

/** Entries in lines: number, kind, state if it is not applied, subject, changes with their ids, counted from 1. */
async function lines(store: HistoryStore): Promise<string[]> {
  const entries = await all(store);
  const lowest = lowestIds(entries);
  const idsOf = ({ object, ids }: Entry['changes'][number]): string =>
    Object.entries(ids ?? {})
      .map(([name, id]) => id - (lowest.get(`${object} ${name}`) ?? 0) + 1)
      .join('+');
  return entries.map(({ n, kind, state, subject, changes }) => {
    const parts = changes.map((each) => {
      const given = each.ids === null ? 'unknown' : idsOf(each);
      const fields = each.fields.length > 0 ? `(${each.fields})` : '';
      return `${each.change} ${each.object}${fields}${given === '' ? '' : `=${given}`}`;
    });
    return `${n} ${kind}${state === 'applied' ? '' : ` ${state}`}: ${subject}; ${parts.join(', ')}`.trim();
  });
}

function pastOf({ source, store, indexer }: Indexed): Past {
  const { reader } = source;
  return createPast({ reader, origin: null, store, indexer, defaults: DEFAULTS, folder: 'desired-state' });
}

async function oldRepository(count: number, options: EngineOptions = {}) {
  const engine = await indexed({ ...options, files: { 'apps/web.yaml': V1, 'apps/db.yaml': V1 } });
  for (let index = 0; index < count; index += 1)
    await engine.commit({ 'apps/web.yaml': `container_image: web:${index + 2}\n` }, `old ${index}`);
  return engine;
}

describe('the history', () => {
  it('has what devices do at the commit that makes them, of several in one pass', async () => {
    const { store, pass, commit } = await indexed({
      files: { 'apps/web.yaml': V1, 'apps/db.yaml': V1, 'device-groups/lab.yaml': LAB },
    });
    await pass();
    await commit({ 'apps/web.yaml': V2 }, 'roll out 2');
    await commit({ 'device-groups/lab.yaml': 'apps: [web, db]\n' }, 'add db');
    await commit({ 'apps/web.yaml': `# the shop\n${V2}` }, 'say what web is');
    await pass();
    expect((await all(store)).slice(0, 3).map(({ subject, effects }) => ({ subject, effects }))).toEqual([
      { subject: 'say what web is', effects: [] },
      { subject: 'add db', effects: [{ app: 'db', action: 'start', groups: ['lab'] }] },
      { subject: 'roll out 2', effects: [{ app: 'web', action: 'restart', groups: ['lab'] }] },
    ]);
  });

  it('has an entry for each commit, with the ids that it gave and what devices do', async () => {
    const { store, pass, commit } = await indexed({
      files: { 'apps/web.yaml': V1, 'device-groups/lab.yaml': LAB },
    });
    await pass();
    const second = await commit({ 'apps/web.yaml': V2 }, 'roll out 2');
    await pass();
    expect(await lines(store)).toEqual([
      '2 commit: roll out 2; update app/web(container_image)=2',
      '1 commit: the first fleet; create app/web=1, create device_group/lab=1+1',
    ]);
    const [newest] = await all(store);
    expect(newest).toMatchObject({
      revision: second,
      appliedWith: second,
      actor: { name: 'Pat', email: 'pat@example.com', via: 'git' },
      changes: [{ ids: { app_id: expect.any(Number) }, path: 'desired-state/apps/web.yaml' }],
      effects: [{ app: 'web', action: 'restart', groups: ['lab'] }],
    });
  });

  it('has each commit of one pass, but ids only where they were given', async () => {
    const { store, pass, commit } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await commit({ 'apps/web.yaml': V2 }, 'two');
    const last = await commit({ 'apps/web.yaml': V3 }, 'three');
    await pass();
    expect(await lines(store)).toEqual([
      '3 commit: three; update app/web(container_image)=2',
      '2 commit: two; update app/web(container_image)',
      '1 commit: the first fleet; create app/web=1',
    ]);
    expect((await all(store))[1]).toMatchObject({ appliedWith: last });
  });

  it('has a change and its revert inside one pass, which gave no ids', async () => {
    const { store, pass, commit } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await commit({ 'apps/web.yaml': V2 }, 'two');
    await commit({ 'apps/web.yaml': V1 }, 'revert');
    await pass();
    expect(await lines(store)).toEqual([
      '3 commit: revert; update app/web(container_image)',
      '2 commit: two; update app/web(container_image)',
      '1 commit: the first fleet; create app/web=1',
    ]);
  });

  it('has a commit of comments alone without changes, and none of a commit outside of the folder', async () => {
    const { store, pass, commit, repository } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await commit({ 'apps/web.yaml': `# why\n${V1}` }, 'comment');
    await repository.commit({ other: 'x' }, 'outside');
    await pass();
    expect(await lines(store)).toEqual(['2 commit: comment;', '1 commit: the first fleet; create app/web=1']);
  });

  it('has a file that moved as one object', async () => {
    const { store, pass, repository } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await repository.git('mv', 'desired-state/apps/web.yaml', 'desired-state/apps/web.yml');
    await repository.commit({}, 'move');
    await pass();
    const [entry] = await all(store);
    expect(entry?.changes).toEqual([
      {
        object: 'app/web',
        change: 'update',
        fields: [],
        ids: {},
        path: 'desired-state/apps/web.yml',
        moved_from: 'desired-state/apps/web.yaml',
      },
    ]);
  });

  it('has a merge once, with the authors of its side commits', async () => {
    const { store, pass, commit, repository } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await repository.git('switch', '--quiet', '-c', 'side');
    await commit({ 'apps/web.yaml': V2 }, 'side 1');
    await repository.git('commit', '--quiet', '--allow-empty', '--author=ben <b@x>', '-m', 'side 2');
    await repository.git('switch', '--quiet', 'main');
    await repository.git('merge', '--quiet', '--no-ff', '-m', 'Merge pull request #7 from a/b', 'side');
    await pass();
    expect(await lines(store)).toEqual([
      '2 commit: Merge pull request #7 from a/b; update app/web(container_image)=2',
      '1 commit: the first fleet; create app/web=1',
    ]);
    expect((await all(store))[0]).toMatchObject({
      authors: ['Pat', 'ben'],
      pullRequest: { number: 7, url: null },
    });
  });

  it('has the merge and the side commits of a foxtrot merge, whose first parent is the side', async () => {
    const { store, pass, commit, repository } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await repository.git('switch', '--quiet', '-c', 'side');
    await commit({ 'apps/db.yaml': V1 }, 'side');
    await repository.git('switch', '--quiet', 'main');
    await commit({ 'apps/web.yaml': V2 }, 'main');
    await pass();
    await repository.git('switch', '--quiet', 'side');
    await repository.git('merge', '--quiet', '--no-ff', '-m', 'foxtrot', 'main');
    await repository.git('branch', '--quiet', '--force', 'main', 'side');
    await repository.git('switch', '--quiet', 'main');
    await pass();
    expect(await lines(store)).toEqual([
      '4 commit: foxtrot; update app/web(container_image)',
      '3 commit: side; create app/db=1',
      '2 commit: main; update app/web(container_image)=2',
      '1 commit: the first fleet; create app/web=1',
    ]);
  });

  it('has a rewrite, with the ids that no new commit gave, and then the new commits', async () => {
    const { store, pass, commit, repository } = await indexed({
      files: { 'apps/web.yaml': V1, 'apps/db.yaml': V1 },
    });
    await pass();
    await commit({ 'apps/db.yaml': V2 }, 'lost');
    await pass();
    await repository.git('reset', '--quiet', '--hard', 'HEAD^');
    await commit({ 'apps/web.yaml': V3 }, 'new');
    await pass();
    const [first, , third] = await lines(store);
    expect(first).toBe('4 commit: new; update app/web(container_image)=2');
    expect((await lines(store))[1]).toMatch(/^3 rewrite: .*; update app\/db\(container_image\)=3$/);
    expect(third).toBe('2 commit: lost; update app/db(container_image)=2');
  });

  it('has only a rewrite for a branch that goes back to a known commit, and on again', async () => {
    const { store, pass, commit, repository } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    const second = await commit({ 'apps/web.yaml': V2 }, 'two');
    await pass();
    await repository.git('reset', '--quiet', '--hard', 'HEAD^');
    await pass();
    await repository.git('reset', '--quiet', '--hard', second);
    await pass();
    expect((await lines(store)).map((text) => text.replace(/rewrite from .*;/, 'rewrite;'))).toEqual([
      '4 rewrite: branch main: rewrite; update app/web(container_image)=4',
      '3 rewrite: branch main: rewrite; update app/web(container_image)=3',
      '2 commit: two; update app/web(container_image)=2',
      '1 commit: the first fleet; create app/web=1',
    ]);
  });

  it('has a switch of the branch in a clone', async () => {
    const { store, pass, commit, repository } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await repository.git('branch', 'old');
    await pass();
    await commit({ 'apps/web.yaml': V2 }, 'two');
    await pass();
    await repository.git('switch', '--quiet', 'old');
    await pass();
    expect((await lines(store))[0]).toMatch(
      /^3 switch: switch from branch main \([0-9a-f]{10}\) to branch old \([0-9a-f]{10}\); update app\/web\(container_image\)=3$/,
    );
  });

  it('has what another setting made of the same commit', async () => {
    const engine = await indexed({ files: { 'apps/web.yaml': V1 } });
    await engine.pass();
    const { source, store } = engine;
    const defaults = appDefaults(['bridge']);
    const reconciler = testReconciler({ source, store, defaults });
    onTestFinished(() => reconciler.close());
    await reconciler.reconcile();
    await engine.indexer.catchUp();
    const [newest] = await lines(store);
    expect(newest?.replace(/[0-9a-f]{10}/, 'A')).toBe(
      '2 switch: apply A with other settings or another release; update app/web(networks)=2',
    );
  });

  it('has a rewrite from a commit that git does not have any more', async () => {
    const { store, pass, commit, repository, failures } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await repository.git('checkout', '--quiet', '--orphan', 'fresh');
    await commit({ 'apps/web.yaml': V2 }, 'fresh');
    await repository.git('branch', '--quiet', '--force', 'main', 'fresh');
    await repository.git('switch', '--quiet', 'main');
    await repository.git('branch', '--quiet', '-D', 'fresh');
    await repository.git('reflog', 'expire', '--expire=now', '--all');
    await repository.git('gc', '--quiet', '--prune=now');
    await pass();
    expect(failures).toEqual([]);
    expect((await lines(store)).map((text) => text.replace(/rewrite from .*;/, 'rewrite;'))).toEqual([
      '3 commit: fresh; create app/web=2',
      '2 rewrite: branch main: rewrite;',
      '1 commit: the first fleet; create app/web=1',
    ]);
  });

  it('has a commit that waits, and a second entry when a later one lets it through', async () => {
    const { store, pass, commit } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await commit({ 'device-groups/lab.yaml': 'apps: [web, db]\n' }, 'group first');
    await pass();
    expect((await lines(store))[0]).toBe('2 commit waiting: group first; create device_group/lab');
    const last = await commit({ 'apps/db.yaml': V1 }, 'app second');
    await pass();
    expect(await lines(store)).toEqual([
      '4 commit: app second; create app/db=1',
      '3 commit: group first; create device_group/lab=1+1',
      '2 commit waiting: group first; create device_group/lab',
      '1 commit: the first fleet; create app/web=1',
    ]);
    expect((await all(store))[1]).toMatchObject({ appliedWith: last });
  });

  it('has a group as waiting that begins to list a missing app', async () => {
    const { store, pass, commit } = await indexed({
      files: { 'apps/web.yaml': V1, 'device-groups/lab.yaml': LAB },
    });
    await pass();
    await commit({ 'device-groups/lab.yaml': 'apps: [web, db]\n' }, 'group first');
    await pass();
    await commit({ 'apps/db.yaml': V1 }, 'app second');
    await pass();
    expect((await lines(store)).slice(0, 3)).toEqual([
      '4 commit: app second; create app/db=1',
      '3 commit: group first; update device_group/lab(apps)=2',
      '2 commit waiting: group first; update device_group/lab(apps)',
    ]);
  });

  it('has a file that becomes invalid as waiting', async () => {
    const { store, pass, commit } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await commit({ 'apps/web.yaml': 'nonsense' }, 'break');
    await pass();
    await commit({ 'apps/web.yaml': V2 }, 'mend');
    await pass();
    expect(await lines(store)).toEqual([
      '3 commit: mend; update app/web=2',
      '2 commit waiting: break; update app/web',
      '1 commit: the first fleet; create app/web=1',
    ]);
  });

  it('has a refused revision once, which another one supersedes', async () => {
    const { store, pass, commit } = await indexed({
      files: { 'apps/web.yaml': V1 },
      settings: { strict: true },
    });
    await pass();
    await commit({ 'apps/web.yaml': 'nonsense' }, 'break');
    await pass();
    await pass();
    expect((await lines(store))[0]).toBe('2 refused refused: break; update app/web');
    await commit({ 'apps/web.yaml': V2 }, 'mend');
    await pass();
    expect(await lines(store)).toEqual([
      '3 commit: mend; update app/web=2',
      '2 refused superseded: break; update app/web',
      '1 commit: the first fleet; create app/web=1',
    ]);
  });

  it('has a refused revision although another manager writes at the same time', async () => {
    const engine = await indexed({ files: { 'apps/web.yaml': V1 }, settings: { strict: true } });
    await engine.pass();
    const refused = await engine.commit({ 'apps/web.yaml': 'nonsense' }, 'break');
    await engine.reconciler.reconcile();
    let isFirst = true;
    const store = wrap(engine.store, {
      entries: async (...query) => {
        if (isFirst) await engine.store.restartApp('web', { actor: 'ana', requestId: 'r-1', at: 1 });
        isFirst = false;
        await engine.indexer.catchUp();
        return engine.store.entries(...query);
      },
    });
    const indexer = indexerOf({ ...engine, store }, engine.failures);
    await indexer.addRefusal(refused);
    await indexer.close();
    expect(await lines(engine.store)).toEqual([
      '3 refused refused: break; update app/web',
      '2 restart: app web: restart; update app/web=2',
      '1 commit: the first fleet; create app/web=1',
    ]);
  });

  it('has operations, in the order in which they were done', async () => {
    const { store, pass, commit, indexer } = await indexed({
      files: { 'apps/web.yaml': V1, 'device-groups/lab.yaml': LAB },
    });
    await pass();
    const context = { actor: 'ana', requestId: 'r-1', at: 1_700_000_000_000 };
    await store.restartApp('web', context);
    await store.pruneAll(context);
    await commit({ 'apps/web.yaml': V2 }, 'two');
    await pass();
    await store.pruneGroup('lab', context);
    await indexer.catchUp();
    expect(await lines(store)).toEqual([
      '5 prune: device group lab: prune; update device_group/lab=3',
      '4 commit: two; update app/web(container_image)=3',
      '3 prune-all: all device groups: prune; update device_group/lab=2',
      '2 restart: app web: restart; update app/web=2',
      '1 commit: the first fleet; create app/web=1, create device_group/lab=1+1',
    ]);
    expect((await all(store))[3]).toMatchObject({
      actor: { name: 'ana', email: null, via: 'api' },
      requestId: 'r-1',
      revision: null,
      effects: [{ app: 'web', action: 'restart', groups: ['lab'] }],
    });
  });

  it('has the id sequence of each act, which is deleted', async () => {
    const { store, pass, commit, indexer } = await indexed({ files: { 'apps/web.yaml': V1 } });
    await pass();
    await store.restartApp('web', { actor: 'ana', requestId: 'r-1', at: 1_700_000_000_000 });
    await commit({ 'apps/web.yaml': `# a comment\n${V1}` }, 'say what web is');
    await commit({ 'apps/web.yaml': V2 }, 'two');
    await pass();
    await indexer.catchUp();
    const { idSequence: now } = await store.state();
    expect((await all(store)).map(({ idSequence }) => idSequence)).toEqual([now, now, now - 1, now - 2]);
    expect(await store.nextAct(0)).toBeNull();
  });
});

describe('the history of an old repository', () => {
  it('counts down, newest first, without ids; the start itself has those that were given', async () => {
    const { store, pass } = await oldRepository(2);
    await pass();
    expect((await lines(store)).map((text) => text.replace(/start at .*;/, 'start;'))).toEqual([
      '1 switch: start; create app/db=1, create app/web=1',
      '0 commit: old 1; update app/web(container_image)=unknown',
      '-1 commit: old 0; update app/web(container_image)=unknown',
      '-2 commit: the first fleet; create app/db=unknown, create app/web=unknown',
    ]);
  });

  it('has no gap and nothing twice, wherever it was interrupted', async () => {
    const engine = await oldRepository(230);
    await engine.reconciler.reconcile();
    // Indexes one step of the older history at a time, each by a indexer of its own, as after a kill.
    for (let round = 0; round < 10; round += 1) {
      const indexer = indexerOf(engine, engine.failures);
      await indexer.catchUp();
      await indexer.close();
    }
    expect(await engine.store.historyState()).toMatchObject({ fill: null, isCut: false });
    const entries = await all(engine.store);
    expect(entries.map(({ n }) => n)).toEqual(Array.from({ length: 232 }, (_, index) => 1 - index));
    expect(entries.slice(1).map(({ subject }) => subject)).toEqual([
      ...Array.from({ length: 230 }, (_, index) => `old ${229 - index}`),
      'the first fleet',
    ]);
  });

  it('has every commit once if several managers index it at the same time', async () => {
    const engine = await oldRepository(30);
    await engine.reconciler.reconcile();
    const indexers = Array.from({ length: 3 }, () => indexerOf(engine, engine.failures));
    await Promise.all(indexers.map((indexer) => settled(indexer, engine.store)));
    await Promise.all(indexers.map((indexer) => indexer.close()));
    const revisions = (await all(engine.store)).flatMap(({ kind, revision }) =>
      kind === 'commit' ? revision : [],
    );
    expect(new Set(revisions).size).toBe(31);
    expect(revisions).toHaveLength(31);
    expect(engine.failures).toEqual([]);
  });

  it('begins at the revision that an earlier release applied, whose store has no acts', async () => {
    const engine = await oldRepository(1);
    await engine.reconciler.reconcile();
    await engine.commit({ 'apps/db.yaml': V2 }, 'later');
    await engine.reconciler.reconcile();
    const store = wrap(engine.store, { nextAct: (after) => engine.store.nextAct(Math.max(after, 1)) });
    const indexer = indexerOf({ ...engine, store }, engine.failures);
    await settled(indexer, store);
    await indexer.close();
    expect(engine.failures).toEqual([]);
    expect(await lines(engine.store)).toEqual([
      '1 commit: later; update app/db(container_image)=1',
      '0 commit: old 0; update app/web(container_image)=unknown',
      '-1 commit: the first fleet; create app/db=unknown, create app/web=unknown',
    ]);
  });
});

describe('a failure while the history is indexed', () => {
  it('is reported, and everything is indexed later', async () => {
    const engine = await indexed({ files: { 'apps/web.yaml': V1 } });
    const log = engine.source.reader.log;
    engine.source.reader.log = () => Promise.reject(new Error('git is away'));
    await engine.reconciler.reconcile();
    await engine.indexer.catchUp();
    expect(engine.failures).toHaveLength(1);
    expect(await all(engine.store)).toEqual([]);
    engine.source.reader.log = log;
    await settled(engine.indexer, engine.store);
    expect(await lines(engine.store)).toEqual(['1 commit: the first fleet; create app/web=1']);
  });

  it('does not end the older history', async () => {
    const engine = await oldRepository(3);
    await engine.reconciler.reconcile();
    const { resolve, isAncestor } = engine.source.reader;
    const fail = () => Promise.reject(new Error('git is away'));
    Object.assign(engine.source.reader, { resolve: fail, isAncestor: fail });
    await engine.indexer.catchUp();
    Object.assign(engine.source.reader, { resolve, isAncestor });
    await settled(engine.indexer, engine.store);
    expect((await engine.store.historyState())?.isCut).toBe(false);
    expect(await all(engine.store)).toHaveLength(5);
  });
});

describe('an applied revision whose commit is gone', () => {
  it('is an entry with the ids that it gave, once a later revision is applied', async () => {
    const { store, reconciler, pass, indexer, failures, repository, commit } = await indexed({
      files: { 'apps/web.yaml': V1 },
    });
    await pass();
    const lost = await commit({ 'apps/web.yaml': V2 }, 'lost');
    await reconciler.reconcile();
    await repository.git('reset', '--quiet', '--hard', 'HEAD^');
    await repository.git('reflog', 'expire', '--expire=now', '--all');
    await repository.git('gc', '--quiet', '--prune=now');
    await indexer.catchUp();
    expect(await lines(store)).toHaveLength(1);
    expect(failures).not.toEqual([]);
    await commit({ 'apps/web.yaml': V3 }, 'three');
    await pass();
    expect((await lines(store)).slice(-2)).toEqual([
      `2 switch: apply ${lost.slice(0, 10)}, whose commit is gone; update app/web(container_image)=2`,
      '1 commit: the first fleet; create app/web=1',
    ]);
    expect((await lines(store))[0]).toBe('4 commit: three; update app/web(container_image)=3');
  });
});

describe('a list of the history', () => {
  it('does not wait for a page of the older history', async () => {
    const engine = await oldRepository(3);
    await engine.reconciler.reconcile();
    const { reader } = engine.source;
    const { log } = reader;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const begun = new Promise<void>((resolve) => {
      reader.log = async (query) => {
        if (query.limit > 1) {
          resolve();
          await released;
        }
        return log(query);
      };
    });
    await engine.indexer.catchUp();
    void engine.indexer.catchUp();
    await begun;
    const past = pastOf(engine);
    const query = { keys: [], kinds: null, since: null, until: null, text: null };
    const { entries } = await past.list(query, null, 10);
    expect(entries).toHaveLength(1);
    release();
    await settled(engine.indexer, engine.store);
    expect((await past.list(query, null, 10)).entries).toHaveLength(5);
  });
});

describe('a difference', () => {
  it('is read after those that were asked for before it, and refused while 16 wait', async () => {
    const engine = await indexed({ files: { 'apps/web.yaml': V1 } });
    const to = await engine.commit({ 'apps/web.yaml': V2 });
    const [from = ''] = (
      await engine.source.reader.log({ from: to, until: null, limit: 2, skipsFirst: true })
    ).commits.map(({ revision }) => revision);
    const past = pastOf(engine);
    const { reader } = engine.source;
    const { blob } = reader;
    let [reading, most] = [0, 0];
    let gate: Promise<void> = Promise.resolve();
    reader.blob = async (...args) => {
      reading += 1;
      most = Math.max(most, reading);
      await gate;
      return blob(...args).finally(() => {
        reading -= 1;
      });
    };
    await past.diff(from, to);
    const ofOne = most;
    let open = (): void => undefined;
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const refused: unknown[] = [];
    const asked = Array.from({ length: 20 }, () =>
      past.diff(from, to).catch((error: unknown) => {
        refused.push(error);
        // One is read and 16 wait.
        if (refused.length === 3) open();
      }),
    );
    await Promise.all(asked);
    expect(most).toBe(ofOne);
    expect(refused).toHaveLength(3);
    expect(refused[0]).toMatchObject({ kind: 'unavailable' });
  });
});

describe('an indexer that has not seen a pass', () => {
  it('has nothing as waiting that was applied', async () => {
    const engine = await indexed({ files: { 'apps/web.yaml': V1 } });
    await engine.pass();
    await engine.commit({ 'apps/web.yaml': V2 }, 'two');
    await engine.pass();
    await engine.repository.git('reset', '--quiet', '--hard', 'HEAD^');
    await engine.commit({ 'apps/db.yaml': V1 }, 'another');
    await engine.commit({ 'apps/web.yaml': V2 }, 'two again');
    await engine.reconciler.reconcile();
    const later = indexerOf(engine, engine.failures, () => null);
    await settled(later, engine.store);
    await later.close();
    expect((await lines(engine.store)).filter((line) => line.includes('waiting'))).toEqual([]);
    expect((await lines(engine.store))[0]).toBe('5 commit: two again; update app/web(container_image)');
  });
});

describe('the history on a disk that is almost full', () => {
  const MIB = 2 ** 20;
  const disk = { blocks: 100_000, bavail: 200, bsize: MIB };

  it('has new commits alone while less is free than reports leave, says so, and has the older ones later', async () => {
    const engine = await oldRepository(3, { readDisk: () => disk });
    disk.bavail = 200;
    await engine.reconciler.reconcile();
    await engine.indexer.catchUp();
    await engine.commit({ 'apps/web.yaml': V1 }, 'new');
    await engine.reconciler.reconcile();
    await engine.indexer.catchUp();
    await expect.poll(() => engine.indexer.problem()).not.toBeNull();
    const since = engine.indexer.problem()?.since;
    expect(engine.indexer.problem()).toEqual({
      message: expect.stringMatching(/^the older history is not indexed until there is more free space/),
      since: expect.any(Number),
    });
    expect((await all(engine.store)).map(({ subject }) => subject)).toEqual([
      'new',
      expect.stringMatching(/^start at /),
    ]);
    await engine.indexer.catchUp();
    await expect.poll(() => engine.failures.length).toBeGreaterThan(1);
    expect(engine.indexer.problem()?.since).toBe(since);
    expect(engine.counts.recoveries).toBe(0);
    disk.bavail = 300;
    await settled(engine.indexer, engine.store);
    await expect.poll(() => engine.indexer.problem()).toBeNull();
    expect(engine.counts.recoveries).toBe(1);
    const subjects = (await all(engine.store)).map(({ subject }) => subject);
    expect(subjects).toEqual([
      'new',
      expect.stringMatching(/^start at /),
      'old 2',
      'old 1',
      'old 0',
      'the first fleet',
    ]);
  });

  it('looks for room again after a commit of very many files', async () => {
    const looks = [300, 300];
    const engine = await oldRepository(0, { readDisk: () => ({ ...disk, bavail: looks.shift() ?? 200 }) });
    const many = Array.from({ length: 5000 }, (_, index) => [`apps/app-${index}.yaml`, V1]);
    await engine.commit(Object.fromEntries(many), 'many');
    await engine.commit({ 'apps/web.yaml': V2 }, 'newest');
    await engine.reconciler.reconcile();
    await engine.indexer.catchUp();
    await expect.poll(() => engine.indexer.problem()).not.toBeNull();
    const subjects = (await all(engine.store)).map(({ subject }) => subject);
    expect(subjects).toEqual([expect.stringMatching(/^start at /), 'newest', 'many']);
  });

  it('has no new commits either while less than half of that is free, and they are applied all the same', async () => {
    const engine = await indexed({ files: { 'apps/web.yaml': V1 }, readDisk: () => disk });
    disk.bavail = 300;
    await engine.pass();
    disk.bavail = 100;
    const revision = await engine.commit({ 'apps/web.yaml': V2 }, 'new');
    await engine.reconciler.reconcile();
    await engine.indexer.catchUp();
    expect((await engine.store.state()).applied?.revision).toBe(revision);
    expect((await all(engine.store)).map(({ subject }) => subject)).toEqual(['the first fleet']);
    expect(engine.indexer.problem()?.message).toMatch(
      /^the history is not indexed until there is more free space/,
    );
    disk.bavail = 200;
    await engine.indexer.catchUp();
    expect((await all(engine.store)).map(({ subject }) => subject)).toEqual(['new', 'the first fleet']);
  });
});
