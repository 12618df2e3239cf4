import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Write } from '../../src/change/write.ts';
import { HoldfastError } from '../../src/errors.ts';
import type { Reader } from '../../src/source/source.ts';
import { tagsOf } from '../../src/store/if-match.ts';
import type { StoredApp } from '../../src/store/store.ts';
import { type Engine, wrap } from '../support/engine.ts';
import { buildWriterEngine, CONTEXT, failure, setImage, WEB } from '../support/writer-engine.ts';

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

/** Until a write that was asked for is taken from the queue: a turn or two of the event loop. */
async function underWay(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await setImmediate();
}

type Moment = () => Promise<unknown>;

/** A reader that does the next of these things after each file that it reads. */
function afterEachBlob(moments: Moment[]): (engine: Engine) => Partial<Reader> {
  return ({ source: { reader } }) => ({
    blob: async (blob, maxBytes) => {
      const found = await reader.blob(blob, maxBytes);
      await moments.shift()?.();
      return found;
    },
  });
}

/** The branch gets another commit, which is read, and is back where it was. */
function commitAndTakeBack({ repository, reconciler, commit }: Engine): Moment[] {
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

/** Makes a file that a process of its own has open; does nothing where it is there. */
async function openAlive(path: string): Promise<void> {
  const file = await open(path, 'wx').catch(() => null);
  if (file === null) return;
  const holder = spawn('sleep', ['1000'], { stdio: [file.fd, 'ignore', 'ignore'] });
  await file.close();
  onTestFinished(async () => {
    holder.kill();
    await once(holder, 'close');
  });
}

describe('the queue', () => {
  it('takes writes of one object in their order', async () => {
    const work = await buildWriterEngine();
    const tags = ['2', '3', '4', '5'];
    await Promise.all(tags.map((tag) => work.writer.write(setImage('web', tag), CONTEXT)));
    expect(await subjects(work)).toEqual(
      tags.map((tag) => `app web: container_image ${Number(tag) - 1} -> ${tag}`),
    );
    expect((await work.store.app('web')).value).toMatchObject({ content: { container_image: 'web:5' } });
  });

  it('publishes writes that arrive together in one go, up to 64: one commit each, in their order', async () => {
    const work = await buildWriterEngine();
    const names = Array.from({ length: 65 }, (_, index) => `new-${index}`);
    const revisions = await Promise.all(names.map((name) => work.writer.write(create(name), CONTEXT)));
    expect(work.published).toEqual([64, 1]);
    expect(await subjects(work)).toEqual(names.map((name) => `app ${name}: create`));
    const log = (await work.repository.git('log', '--format=%H', '--reverse')).split('\n').slice(1);
    expect(revisions.map(({ revision }) => revision)).toEqual(log);
  });

  it('publishes together what has arrived while another write was under way', async () => {
    const work = await buildWriterEngine();
    const first = work.writer.write(setImage('web', '2'), CONTEXT);
    await underWay();
    const others = Array.from({ length: 5 }, (_, index) =>
      work.writer.write(
        { kind: 'app', op: 'create', name: `new-${index}`, fields: { container_image: 'new:1' } },
        CONTEXT,
      ),
    );
    await Promise.all([first, ...others]);
    expect(work.published).toEqual([1, 5]);
  });

  it('has each write see those before it, also in one publish', async () => {
    const work = await buildWriterEngine();
    const outcomes = await Promise.allSettled([
      work.writer.write(setImage('cron', '2'), CONTEXT),
      work.writer.write(
        { kind: 'app', op: 'create', name: 'next', fields: { container_image: 'next:1' } },
        CONTEXT,
      ),
      work.writer.write(
        { kind: 'device_group', op: 'create', name: 'edge', fields: { apps: ['next'] } },
        CONTEXT,
      ),
      work.writer.write({ kind: 'app', op: 'delete', name: 'next' }, CONTEXT),
      work.writer.write(
        { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['next'] } },
        CONTEXT,
      ),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(4).fill('fulfilled'), 'rejected']);
    expect((await work.store.group('edge')).value?.content.apps).toEqual([]);
  });

  it('has the delete of an app see the files of groups that earlier writes have changed', async () => {
    const work = await buildWriterEngine();
    const edge = 'device-groups/edge.yaml';
    await work.commit({ [edge]: '# Ask Pat\napps: [web]\n' });
    await Promise.all([
      work.writer.write(
        { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web', 'cron'] } },
        CONTEXT,
      ),
      work.writer.write({ kind: 'app', op: 'delete', name: 'cron' }, CONTEXT),
    ]);
    expect(await work.repository.show(`desired-state/${edge}`)).toBe('# Ask Pat\napps: [web]\n');
  });

  it('does not let one that is refused keep others back', async () => {
    const work = await buildWriterEngine();
    const writes = ['web', 'nobody', 'cron'].map((name) => work.writer.write(setImage(name, '2'), CONTEXT));
    const [web, nobody, cron] = await Promise.allSettled(writes);
    expect([web?.status, cron?.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(nobody).toMatchObject({ status: 'rejected', reason: { kind: 'absent' } });
  });

  it.each([
    {
      name: 'a lock that a living process has',
      hinder: async ({ repository }: Engine) => {
        await openAlive(join(repository.folder, '.git/index.lock'));
      },
      end: ({ repository }: Engine) => rm(join(repository.folder, '.git/index.lock')),
    },
    {
      name: 'a merge that is not finished',
      hinder: async ({ repository }: Engine) => {
        await repository.git('switch', '--quiet', '-c', 'side');
        await repository.commit({ [WEB]: 'container_image: side:1\n' });
        await repository.git('switch', '--quiet', 'main');
        await repository.commit({ [WEB]: 'container_image: main:1\n' });
        await expect(repository.git('merge', 'side')).rejects.toThrow();
      },
      end: ({ repository }: Engine) => repository.git('merge', '--abort'),
    },
  ])('asks once where all are refused for the same reason: $name', async ({ hinder, end }) => {
    const work = await buildWriterEngine();
    await hinder(work);
    const writes = ['one', 'two', 'three'].map(create);
    const refused = await Promise.all(writes.map((write) => failure(work.writer.write(write, CONTEXT))));
    expect(refused.map(({ kind }) => kind)).toEqual(['conflict', 'conflict', 'conflict']);
    expect(work.published).toEqual([3]);
    await end(work);
    await work.writer.write(setImage('web', '9'), CONTEXT);
  });

  it('waits for a lock once, before it looks at the files of each', async () => {
    const work = await buildWriterEngine({
      beforePublish: ({ repository }) => openAlive(join(repository.folder, '.git/index.lock')),
    });
    await rm(join(work.repository.folder, 'desired-state', WEB));
    const writes = [create('one'), create('two'), setImage('web', '2')];
    const refused = await Promise.all(writes.map((write) => failure(work.writer.write(write, CONTEXT))));
    expect(refused.map(({ message }) => message)).toEqual(
      Array(3).fill(expect.stringMatching(/has locked the repository/)),
    );
    expect(work.published).toEqual([3]);
  });

  it('makes the others again where a restart overtook the If-Match of one that is drafted', async () => {
    let looks = 0;
    const work = await buildWriterEngine({
      store: ({ store }) => ({
        app: async (name) => {
          // The second look comes once all are drafted.
          if (name === 'web' && ++looks === 2) await store.restartApp('web', BY_PAT, null);
          return store.app(name);
        },
      }),
    });
    const ifMatch = tagsOf((await work.store.app('web')).value as StoredApp);
    const web = failure(work.writer.write(setImage('web', '2'), { ...CONTEXT, ifMatch }));
    const cron = work.writer.write(setImage('cron', '2'), CONTEXT);
    expect([(await web).kind, (await cron).object.value?.name]).toEqual(['moved-on', 'cron']);
    expect(await subjects(work)).toEqual(['app cron: container_image 1 -> 2']);
    expect(work.published).toEqual([1]);
  });

  it('tells each of its own commit where nobody knows whether they arrived, and looks', async () => {
    const commits = ['a', 'b'].map((digit) => digit.repeat(40));
    let looks = 0;
    const work = await buildWriterEngine({
      beforePublish: () => Promise.reject(new HoldfastError('unavailable', 'lost', { commits })),
      reconciler: ({ reconciler }) => ({
        pollOrigin: () => {
          looks += 1;
          return reconciler.pollOrigin();
        },
      }),
    });
    const writes = ['web', 'cron'].map((name) => failure(work.writer.write(setImage(name, '2'), CONTEXT)));
    const refused = await Promise.all(writes);
    expect(refused.map(({ kind, details }) => [kind, details])).toEqual(
      commits.map((revision) => ['unavailable', { revision, applied: false }]),
    );
    expect([work.published, looks]).toEqual([[2], 1]);
  });

  it('refuses a write whose turn does not come, and makes nothing of it later', async () => {
    const gate = createGate();
    const work = await buildWriterEngine({ waitLimit: 3000, beforePublish: () => gate.opened });
    const first = work.writer.write(setImage('web', '2'), CONTEXT);
    await underWay();
    const refused = await Promise.all(
      [setImage('web', '3'), create('new')].map((write) => failure(work.writer.write(write, CONTEXT))),
    );
    expect(refused.map(({ kind }) => kind)).toEqual(['unavailable', 'unavailable']);
    gate.open();
    await first;
    await work.writer.write(setImage('web', '4'), CONTEXT);
    expect(await subjects(work)).toEqual([
      'app web: container_image 1 -> 2',
      'app web: container_image 2 -> 4',
    ]);
  });

  it('ends what is under way when it closes, and takes nothing more', async () => {
    const work = await buildWriterEngine();
    const first = work.writer.write(setImage('web', '2'), CONTEXT);
    await underWay();
    const waiting = failure(work.writer.write(setImage('web', '3'), CONTEXT));
    await work.writer.close();
    const { revision } = await first;
    expect(revision).toBe(await work.repository.git('rev-parse', 'HEAD'));
    expect((await waiting).kind).toBe('unavailable');
    expect((await failure(work.writer.write(setImage('web', '4'), CONTEXT))).kind).toBe('unavailable');
    expect(await subjects(work)).toEqual(['app web: container_image 1 -> 2']);
  });
});

it.each<[string, Write, readonly string[] | null, string]>([
  ['an app that is there is created', create('web'), null, 'present'],
  ['an app that is not there is changed', setImage('nope', '2'), null, 'absent'],
  ['If-Match does not match', setImage('web', '2'), ['"0"'], 'moved-on'],
  ['nothing is wrong with the update', setImage('web', '2'), null, 'conflict'],
  ['nothing is wrong with the create', create('new'), null, 'conflict'],
])('where the head is refused, and %s', async (_, write, ifMatch, kind) => {
  const work = await buildWriterEngine();
  await work.commit({ [WEB]: null, 'apps/cron.yaml': null }, 'lose all files');
  const refused = await failure(work.writer.write(write, { ...CONTEXT, ifMatch }));
  expect([refused.kind, work.published]).toEqual([kind, []]);
});

it.each<[string, Write, string]>([
  [
    'after an unknown app of a group',
    { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['ghost'] } },
    'absent',
  ],
  ['before an invalid file', setImage('web', '2'), 'moved-on'],
])('an If-Match that does not match is reported %s', async (_, write, kind) => {
  const work = await buildWriterEngine();
  await work.commit({ [WEB]: '[', 'device-groups/edge.yaml': 'apps: [cron]\n' });
  const refused = await failure(work.writer.write(write, { ...CONTEXT, ifMatch: ['"0"'] }));
  expect([refused.kind, work.published]).toEqual([kind, []]);
});

describe('a branch that moves meanwhile', () => {
  it('gets the write on top, and nothing of either is lost', async () => {
    let moves = 0;
    const work = await buildWriterEngine({
      beforePublish: async ({ commit }) => {
        moves += 1;
        if (moves <= 4)
          await commit({ [WEB]: `container_image: web:1\nvolumes: ["/v${moves}:/v"]\n` }, `person ${moves}`);
      },
    });
    await work.writer.write(setImage('web', '2'), CONTEXT);
    expect(work.published).toEqual([1, 1, 1, 1, 1]);
    expect(await work.repository.show(`desired-state/${WEB}`)).toBe(
      'container_image: web:2\nvolumes: ["/v4:/v"]\n',
    );
    expect((await subjects(work)).at(-1)).toBe('app web: container_image 1 -> 2');
    expect(await work.repository.git('status', '--porcelain')).toBe('');
  });

  it('is a conflict when it moved five times, and nothing is written', async () => {
    let moves = 0;
    const work = await buildWriterEngine({
      beforePublish: ({ commit }) => {
        moves += 1;
        return commit({ 'apps/cron.yaml': `container_image: cron:${moves + 1}\n` }, `person ${moves}`);
      },
    });
    const refused = await failure(work.writer.write(setImage('web', '2'), CONTEXT));
    expect([refused.kind, work.published]).toEqual(['conflict', [1, 1, 1, 1, 1]]);
    expect(await subjects(work)).toEqual([1, 2, 3, 4, 5].map((move) => `person ${move}`));
    expect(await work.repository.git('status', '--porcelain')).toBe('');
  });

  it('gets no text of a commit that was there only while the write was drafted', async () => {
    const moments: Moment[] = [];
    const work = await buildWriterEngine({
      store: () => ({ ping: async () => void (await moments.shift()?.()) }),
      reader: afterEachBlob(moments),
    });
    moments.push(...commitAndTakeBack(work));
    await work.writer.write(setImage('web', '2'), CONTEXT);
    expect(moments).toEqual([]);
    expect(await work.repository.show(`desired-state/${WEB}`)).toBe('container_image: web:2\n');
  });

  it('gets no text of such a commit even if the branch is back before the last write is drafted', async () => {
    const moments: Moment[] = [];
    const work = await buildWriterEngine({
      reader: afterEachBlob(moments),
    });
    moments.push(...commitAndTakeBack(work));
    // Eight writes are gathered at once: the text of the last one is read once those before it are drafted.
    const names = Array.from({ length: 7 }, (_, index) => `new-${index}`);
    const writes = [setImage('cron', '2'), ...names.map(create), setImage('web', '2')];
    await Promise.all(writes.map((write) => work.writer.write(write, CONTEXT)));
    expect(moments).toEqual([]);
    expect(await work.repository.show(`desired-state/${WEB}`)).toBe('container_image: web:2\n');
  });

  it('makes the write unnecessary: it resolves when what a person committed is applied', async () => {
    const gate = createGate();
    let isHeld = false;
    let reconciled = 0;
    const work = await buildWriterEngine({
      wrapStore: (store) =>
        wrap(store, {
          apply: async (batch) => {
            if (isHeld) await gate.opened;
            return store.apply(batch);
          },
        }),
      store: (engine) => ({
        // Between the look at the head and the draft, a person commits the same, and its pass is under way.
        ping: async () => {
          if (isHeld) return;
          isHeld = true;
          await engine.commit({ [WEB]: 'container_image: web:2\n' });
          void engine.reconciler.reconcile();
          const image = () => engine.reconciler.passes.desired.app('web')?.content?.container_image;
          await expect.poll(image, { timeout: 60_000 }).toBe('web:2');
        },
      }),
      reconciler: (engine) => ({
        reconcile: () => {
          reconciled += 1;
          if (reconciled > 1) gate.open();
          return engine.reconciler.reconcile();
        },
      }),
    });
    const written = await work.writer.write(setImage('web', '2'), CONTEXT);
    const applied = (await work.store.app('web')).value?.content.container_image;
    gate.open();
    expect([written.revision, applied]).toEqual([null, 'web:2']);
  });
});

it('a commit that is published but not applied is told with its revision, and applied by the next pass', async () => {
  let fails = false;
  const work = await buildWriterEngine({
    wrapStore: (store) =>
      wrap(store, {
        apply: (batch) =>
          fails ? Promise.reject(new HoldfastError('unavailable', 'the disk is full')) : store.apply(batch),
      }),
    beforePublish: async () => {
      fails = true;
    },
  });
  const refused = await failure(work.writer.write(setImage('web', '2'), CONTEXT));
  const revision = await work.repository.git('rev-parse', 'HEAD');
  expect(refused).toMatchObject({ kind: 'unavailable', details: { revision, applied: false } });
  expect(await subjects(work)).toEqual(['app web: container_image 1 -> 2']);
  fails = false;
  await work.reconciler.reconcile();
  expect(await work.store.app('web')).toMatchObject({
    revision,
    value: { content: { container_image: 'web:2' } },
  });
});

describe('a commit that was published', () => {
  it.each([
    ['was reset away', ['reset', '--quiet', '--hard', 'HEAD^'], 'unavailable'],
    ['is on a branch that was left', ['switch', '--quiet', '--orphan', 'other'], 'unavailable'],
    ['has another one on top', ['commit', '--quiet', '--allow-empty', '-m', 'person'], null],
  ])('and %s counts as applied only where the head has it', async (_, command, kind) => {
    let revision = '';
    const work = await buildWriterEngine({
      afterPublish: async ({ repository }) => {
        revision = await repository.git('rev-parse', 'HEAD');
        await repository.git(...command);
      },
    });
    const written = work.writer.write(setImage('web', '2'), CONTEXT);
    if (kind === null) expect(await written).toMatchObject({ revision });
    else expect(await failure(written)).toMatchObject({ kind, details: { revision, applied: false } });
  });
});
