import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ChangesRefused } from '../../src/change/refusals.ts';
import type { ChangeSet, Write } from '../../src/change/write.ts';
import { HoldfastError } from '../../src/errors.ts';
import type { Reader } from '../../src/source/source.ts';
import { tagsOf } from '../../src/store/objects/if-match.ts';
import type { StoredApp } from '../../src/store/objects/port.ts';
import { type Engine, wrap } from '../support/engine.ts';
import { buildWriterEngine, CONTEXT, failure, setImage, WAIT_LIMIT, WEB } from '../support/writer-engine.ts';

const BY_PAT = { actor: 'pat', requestId: 'r', at: 0 };

async function subjects({ repository }: Engine): Promise<string[]> {
  return (await repository.git('log', '--format=%s', '--reverse')).split('\n').slice(1);
}

function createGate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Waits until a new write is taken from the queue, which takes a turn or two of the event loop. */
async function untilTaken(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await setImmediate();
}

type Step = () => Promise<unknown>;

/** A reader that takes and runs the next of `steps` after each file that it reads. */
function afterEachBlob(steps: Step[]): (engine: Engine) => Partial<Reader> {
  return ({ source: { reader } }) => ({
    blob: async (blob, maxBytes) => {
      const found = await reader.blob(blob, maxBytes);
      await steps.shift()?.();
      return found;
    },
  });
}

/** Two steps, with a pass after each: the branch gets a commit, and loses it again. */
function commitAndTakeBack({ repository, reconciler, commit }: Engine): Step[] {
  return [
    async () => {
      await commit({ [WEB]: 'container_image: web:1\nprivileged: true\n' });
      await reconciler.reconcile();
    },
    async () => {
      await repository.git('reset', '--quiet', '--hard', 'HEAD~1');
      await reconciler.reconcile();
    },
  ];
}

function create(name: string): Write {
  return { kind: 'app', op: 'create', name, fields: { container_image: `${name}:1` } };
}

/** Creates a file that another process keeps open until the test ends. */
async function createHeldFile(path: string): Promise<void> {
  const file = await open(path, 'wx');
  const holder = spawn('sleep', ['1000'], { stdio: [file.fd, 'ignore', 'ignore'] });
  await file.close();
  onTestFinished(async () => {
    holder.kill();
    await once(holder, 'close');
  });
}

describe('the queue of writes', () => {
  it('carries out writes to one object in their order', async () => {
    const engine = await buildWriterEngine();
    const tags = ['2', '3', '4', '5'];
    await Promise.all(tags.map((tag) => engine.writer.write(setImage('web', tag), CONTEXT)));
    expect(await subjects(engine)).toEqual(
      tags.map((tag) => `app web: container_image ${Number(tag) - 1} -> ${tag}`),
    );
    expect((await engine.store.object('app', 'web')).value).toMatchObject({
      content: { container_image: 'web:5' },
    });
  });

  it('publishes up to 64 writes that arrive together at once, with one commit each, in their order', async () => {
    const engine = await buildWriterEngine();
    const names = Array.from({ length: 65 }, (_, index) => `new-${index}`);
    const revisions = await Promise.all(names.map((name) => engine.writer.write(create(name), CONTEXT)));
    expect(engine.published).toEqual([64, 1]);
    expect(await subjects(engine)).toEqual(names.map((name) => `app ${name}: create`));
    const log = (await engine.repository.git('log', '--format=%H', '--reverse')).split('\n').slice(1);
    expect(revisions.map(({ revision }) => revision)).toEqual(log);
  });

  it('publishes together all writes that arrived during another write', async () => {
    const engine = await buildWriterEngine();
    const first = engine.writer.write(setImage('web', '2'), CONTEXT);
    await untilTaken();
    const others = Array.from({ length: 5 }, (_, index) =>
      engine.writer.write(create(`new-${index}`), CONTEXT),
    );
    await Promise.all([first, ...others]);
    expect(engine.published).toEqual([1, 5]);
  });

  it('makes one commit for a set of several changes, or none if one of them is refused', async () => {
    const engine = await buildWriterEngine();
    const set = (...changes: Write[]): ChangeSet => ({ changes, subject: null, trailers: [] });
    const commit = (...changes: Write[]) => engine.writer.commit(set(...changes), CONTEXT);
    const refused = await failure(commit(setImage('web', '2'), create('cron')));
    const made = await commit(setImage('web', '2'), create('next'), {
      kind: 'app',
      op: 'delete',
      name: 'cron',
    });
    const same = await commit(setImage('web', '2'), setImage('next', '1'));
    expect([...(refused as ChangesRefused).errors.keys()]).toEqual([1]);
    expect(await subjects(engine)).toEqual([
      'app next: create; app web: container_image 1 -> 2; app cron: delete',
    ]);
    expect(made.revision).toBe(await engine.repository.git('rev-parse', 'HEAD'));
    expect(Array.from(made.objects, ([key, { value }]) => [key, value === null])).toEqual([
      ['app/web', false],
      ['app/next', false],
      ['app/cron', true],
    ]);
    expect(same.revision).toBeNull();
  });

  it('drafts each write on the result of those before it, even in the same publish', async () => {
    const engine = await buildWriterEngine();
    const outcomes = await Promise.allSettled([
      engine.writer.write(setImage('cron', '2'), CONTEXT),
      engine.writer.write(create('next'), CONTEXT),
      engine.writer.write(
        { kind: 'device_group', op: 'create', name: 'edge', fields: { apps: ['next'] } },
        CONTEXT,
      ),
      engine.writer.write({ kind: 'app', op: 'delete', name: 'next' }, CONTEXT),
      engine.writer.write(
        { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['next'] } },
        CONTEXT,
      ),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(4).fill('fulfilled'), 'rejected']);
    expect((await engine.store.object('device_group', 'edge')).value?.content.apps).toEqual([]);
  });

  it('removes a deleted app also from a group to which an earlier write of the queue adds it', async () => {
    const engine = await buildWriterEngine();
    const edge = 'device-groups/edge.yaml';
    await engine.commit({ [edge]: '# Ask Pat\napps: [web]\n' });
    await Promise.all([
      engine.writer.write(
        { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web', 'cron'] } },
        CONTEXT,
      ),
      engine.writer.write({ kind: 'app', op: 'delete', name: 'cron' }, CONTEXT),
    ]);
    expect(await engine.repository.show(`desired-state/${edge}`)).toBe('# Ask Pat\napps: [web]\n');
  });

  it('carries out the other writes if one of them is refused', async () => {
    const engine = await buildWriterEngine();
    const writes = ['web', 'unknown', 'cron'].map((name) =>
      engine.writer.write(setImage(name, '2'), CONTEXT),
    );
    const [web, unknown, cron] = await Promise.allSettled(writes);
    expect([web?.status, cron?.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(unknown).toMatchObject({ status: 'rejected', reason: { kind: 'absent' } });
  });

  it('tries to publish only once if an unfinished merge blocks all writes', async () => {
    const engine = await buildWriterEngine();
    const { repository } = engine;
    await repository.git('switch', '--quiet', '-c', 'side');
    await repository.commit({ [WEB]: 'container_image: side:1\n' });
    await repository.git('switch', '--quiet', 'main');
    await repository.commit({ [WEB]: 'container_image: main:1\n' });
    await expect(repository.git('merge', 'side')).rejects.toThrow();
    const writes = ['one', 'two', 'three'].map(create);
    const refused = await Promise.all(writes.map((write) => failure(engine.writer.write(write, CONTEXT))));
    expect(refused.map(({ kind }) => kind)).toEqual(['conflict', 'conflict', 'conflict']);
    expect(engine.published).toEqual([3]);
    await repository.git('merge', '--abort');
    await engine.writer.write(setImage('web', '9'), CONTEXT);
  });

  it('waits once for a lock that blocks all writes', async () => {
    const engine = await buildWriterEngine();
    const lock = join(engine.repository.folder, '.git/index.lock');
    await createHeldFile(lock);
    const writes = [create('one'), create('two'), setImage('web', '2')];
    const refused = await Promise.all(writes.map((write) => failure(engine.writer.write(write, CONTEXT))));
    expect(refused).toEqual(
      Array(3).fill(
        expect.objectContaining({
          kind: 'conflict',
          message: expect.stringMatching(/has locked the repository/),
        }),
      ),
    );
    expect(engine.published).toEqual([3]);
    await rm(lock);
    await engine.writer.write(setImage('cron', '2'), CONTEXT);
  });

  it('drafts the other writes again if a restart invalidates the If-Match of one that is already drafted', async () => {
    let readsOfWeb = 0;
    const engine = await buildWriterEngine({
      store: ({ store }) => ({
        object: async (kind, name) => {
          // The writer reads the app again once all writes are drafted.
          if (name === 'web' && ++readsOfWeb === 2) await store.restartApp('web', BY_PAT, null);
          return store.object(kind, name);
        },
      }),
    });
    const ifMatch = tagsOf((await engine.store.object('app', 'web')).value as StoredApp);
    const web = failure(engine.writer.write(setImage('web', '2'), { ...CONTEXT, ifMatch }));
    const cron = engine.writer.write(setImage('cron', '2'), CONTEXT);
    expect([(await web).kind, (await cron).object.value?.name]).toEqual(['moved-on', 'cron']);
    expect(await subjects(engine)).toEqual(['app cron: container_image 1 -> 2']);
    expect(engine.published).toEqual([1]);
  });

  it('reports to each write its own commit if the outcome of the publish is unknown, and polls origin', async () => {
    const commits = ['a', 'b'].map((digit) => digit.repeat(40));
    let polls = 0;
    const engine = await buildWriterEngine({
      beforePublish: () => Promise.reject(new HoldfastError('unavailable', 'lost', { commits })),
      reconciler: ({ reconciler }) => ({
        pollOrigin: () => {
          polls += 1;
          return reconciler.pollOrigin();
        },
      }),
    });
    const writes = ['web', 'cron'].map((name) => failure(engine.writer.write(setImage(name, '2'), CONTEXT)));
    const refused = await Promise.all(writes);
    expect(refused.map(({ kind, details }) => [kind, details])).toEqual(
      commits.map((revision) => ['unavailable', { revision, applied: false }]),
    );
    expect([engine.published, polls]).toEqual([[2], 1]);
  });

  it('refuses writes that have waited too long, and does not carry them out later', async () => {
    const gate = createGate();
    const engine = await buildWriterEngine({ beforePublish: () => gate.opened });
    const first = engine.writer.write(setImage('web', '2'), CONTEXT);
    await untilTaken();
    // The clock is false only while these writes wait, so their limit passes and no other one.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const waiting = [setImage('web', '3'), create('new')].map((write) =>
      failure(engine.writer.write(write, CONTEXT)),
    );
    vi.advanceTimersByTime(WAIT_LIMIT);
    vi.useRealTimers();
    const refused = await Promise.all(waiting);
    expect(refused.map(({ kind }) => kind)).toEqual(['unavailable', 'unavailable']);
    gate.open();
    await first;
    await engine.writer.write(setImage('web', '4'), CONTEXT);
    expect(await subjects(engine)).toEqual([
      'app web: container_image 1 -> 2',
      'app web: container_image 2 -> 4',
    ]);
  });

  it('finishes the current write when it closes, and refuses waiting and new ones', async () => {
    const engine = await buildWriterEngine();
    const first = engine.writer.write(setImage('web', '2'), CONTEXT);
    await untilTaken();
    const waiting = failure(engine.writer.write(setImage('web', '3'), CONTEXT));
    await engine.writer.close();
    const { revision } = await first;
    expect(revision).toBe(await engine.repository.git('rev-parse', 'HEAD'));
    expect((await waiting).kind).toBe('unavailable');
    expect((await failure(engine.writer.write(setImage('web', '4'), CONTEXT))).kind).toBe('unavailable');
    expect(await subjects(engine)).toEqual(['app web: container_image 1 -> 2']);
  });
});

it.each<[string, Write, readonly string[] | null, string]>([
  ['the create of an existing app fails because it exists', create('web'), null, 'present'],
  ['a change of an unknown app fails because it does not exist', setImage('nope', '2'), null, 'absent'],
  ['a write fails because its If-Match does not match', setImage('web', '2'), ['"0"'], 'moved-on'],
  ['any other change fails because of the head', setImage('web', '2'), null, 'conflict'],
  ['any other create fails because of the head', create('new'), null, 'conflict'],
])('on a head that is refused, %s', async (_, write, ifMatch, kind) => {
  const engine = await buildWriterEngine();
  await engine.commit({ [WEB]: null, 'apps/cron.yaml': null }, 'lose all files');
  const refused = await failure(engine.writer.write(write, { ...CONTEXT, ifMatch }));
  expect([refused.kind, engine.published]).toEqual([kind, []]);
});

it.each<[string, Write, string]>([
  [
    'after an unknown app in the list of a group',
    { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['ghost'] } },
    'absent',
  ],
  ['before an invalid file', setImage('web', '2'), 'moved-on'],
])('an If-Match that does not match is reported %s', async (_, write, kind) => {
  const engine = await buildWriterEngine();
  await engine.commit({ [WEB]: '[', 'device-groups/edge.yaml': 'apps: [cron]\n' });
  const refused = await failure(engine.writer.write(write, { ...CONTEXT, ifMatch: ['"0"'] }));
  expect([refused.kind, engine.published]).toEqual([kind, []]);
});

describe('a branch that moves during a write', () => {
  it('gets the write on top of up to four other commits, and keeps their changes', async () => {
    let moves = 0;
    const engine = await buildWriterEngine({
      beforePublish: async ({ commit }) => {
        moves += 1;
        if (moves <= 4)
          await commit({ [WEB]: `container_image: web:1\nvolumes: ["/v${moves}:/v"]\n` }, `move ${moves}`);
      },
    });
    await engine.writer.write(setImage('web', '2'), CONTEXT);
    expect(engine.published).toEqual([1, 1, 1, 1, 1]);
    expect(await engine.repository.show(`desired-state/${WEB}`)).toBe(
      'container_image: web:2\nvolumes: ["/v4:/v"]\n',
    );
    expect((await subjects(engine)).at(-1)).toBe('app web: container_image 1 -> 2');
    expect(await engine.repository.git('status', '--porcelain')).toBe('');
  });

  it('makes the write a conflict, and leaves nothing of it, once the branch has moved five times', async () => {
    let moves = 0;
    const engine = await buildWriterEngine({
      beforePublish: ({ commit }) => {
        moves += 1;
        return commit({ 'apps/cron.yaml': `container_image: cron:${moves + 1}\n` }, `move ${moves}`);
      },
    });
    const refused = await failure(engine.writer.write(setImage('web', '2'), CONTEXT));
    expect([refused.kind, engine.published]).toEqual(['conflict', [1, 1, 1, 1, 1]]);
    expect(await subjects(engine)).toEqual([1, 2, 3, 4, 5].map((move) => `move ${move}`));
    expect(await engine.repository.git('status', '--porcelain')).toBe('');
  });

  it('gets no text of a commit that was taken back while the write was drafted', async () => {
    const steps: Step[] = [];
    const engine = await buildWriterEngine({
      store: () => ({ ping: async () => void (await steps.shift()?.()) }),
      reader: afterEachBlob(steps),
    });
    steps.push(...commitAndTakeBack(engine));
    await engine.writer.write(setImage('web', '2'), CONTEXT);
    expect(steps).toEqual([]);
    expect(await engine.repository.show(`desired-state/${WEB}`)).toBe('container_image: web:2\n');
  });

  it('gets no text of such a commit even if it was taken back before the last write was drafted', async () => {
    const steps: Step[] = [];
    const engine = await buildWriterEngine({
      reader: afterEachBlob(steps),
    });
    steps.push(...commitAndTakeBack(engine));
    // Eight writes are gathered at once: the text of the last one is read once those before it are drafted.
    const names = Array.from({ length: 7 }, (_, index) => `new-${index}`);
    const writes = [setImage('cron', '2'), ...names.map(create), setImage('web', '2')];
    await Promise.all(writes.map((write) => engine.writer.write(write, CONTEXT)));
    expect(steps).toEqual([]);
    expect(await engine.repository.show(`desired-state/${WEB}`)).toBe('container_image: web:2\n');
  });

  it('makes the write unnecessary: it resolves once a commit with the same change is applied', async () => {
    const gate = createGate();
    let isHeld = false;
    let reconciled = 0;
    const engine = await buildWriterEngine({
      wrapStore: (store) =>
        wrap(store, {
          apply: async (batch) => {
            if (isHeld) await gate.opened;
            return store.apply(batch);
          },
        }),
      store: ({ commit, reconciler }) => ({
        // After the writer has read the head, a user commits the same, and the pass of that commit has begun.
        ping: async () => {
          if (isHeld) return;
          isHeld = true;
          await commit({ [WEB]: 'container_image: web:2\n' });
          void reconciler.reconcile();
          const image = () => reconciler.passes.desired.app('web')?.content?.container_image;
          await expect.poll(image, { timeout: 60_000 }).toBe('web:2');
        },
      }),
      reconciler: ({ reconciler }) => ({
        reconcile: () => {
          reconciled += 1;
          if (reconciled > 1) gate.open();
          return reconciler.reconcile();
        },
      }),
    });
    const written = await engine.writer.write(setImage('web', '2'), CONTEXT);
    const applied = (await engine.store.object('app', 'web')).value?.content.container_image;
    gate.open();
    expect([written.revision, applied]).toEqual([null, 'web:2']);
  });
});

it('the error of a write that is published but not applied names its revision, which the next pass applies', async () => {
  let fails = false;
  const engine = await buildWriterEngine({
    wrapStore: (store) =>
      wrap(store, {
        apply: (batch) =>
          fails ? Promise.reject(new HoldfastError('unavailable', 'the disk is full')) : store.apply(batch),
      }),
    beforePublish: async () => {
      fails = true;
    },
  });
  const refused = await failure(engine.writer.write(setImage('web', '2'), CONTEXT));
  const revision = await engine.repository.git('rev-parse', 'HEAD');
  expect(refused).toMatchObject({ kind: 'unavailable', details: { revision, applied: false } });
  expect(await subjects(engine)).toEqual(['app web: container_image 1 -> 2']);
  fails = false;
  await engine.reconciler.reconcile();
  expect(await engine.store.object('app', 'web')).toMatchObject({
    revision,
    value: { content: { container_image: 'web:2' } },
  });
});

describe('a commit that was published', () => {
  it.each([
    ['not applied if it was reset away', ['reset', '--quiet', '--hard', 'HEAD^'], 'unavailable'],
    [
      'not applied if another branch was checked out',
      ['switch', '--quiet', '--orphan', 'other'],
      'unavailable',
    ],
    ['applied if it has another one on top', ['commit', '--quiet', '--allow-empty', '-m', 'x'], null],
  ])('is reported as %s', async (_, command, kind) => {
    let revision = '';
    const engine = await buildWriterEngine({
      afterPublish: async ({ repository }) => {
        revision = await repository.git('rev-parse', 'HEAD');
        await repository.git(...command);
      },
    });
    const written = engine.writer.write(setImage('web', '2'), CONTEXT);
    if (kind === null) expect(await written).toMatchObject({ revision });
    else expect(await failure(written)).toMatchObject({ kind, details: { revision, applied: false } });
  });
});
