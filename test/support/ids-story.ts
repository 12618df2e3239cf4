import { expect } from 'vitest';
import { commitAndApply, idsOf, startFleetWithHistory, WEB, waitForRecord } from './fleet-with-history.ts';
import type { TestRepository } from './git.ts';
import { copyData, loseStore, restoreCopy, setRecord } from './lost-store.ts';
import type { TestManager } from './manager.ts';
import type { Worker } from './worker.ts';

type Ids = Record<string, number>;

/** A fleet with a device, and what was put aside in the course of its story. */
export interface Story {
  manager: TestManager;
  worker: Worker;
  repository: TestRepository;
  /** The ids before the store was last lost or replaced; if the record was put back, those that it has. */
  ids: Ids;
  record: { tip: string; ids: Ids };
  /** A copy of the data folder. */
  copy: string;
  /** Commits by name. */
  commits: Record<string, string>;
}

/** Something that happens. */
export type Act = (story: Story) => Promise<unknown>;

/** Begins a story with the fleet of `startFleetWithHistory`, and lets all of this happen. */
export async function tell(acts: readonly Act[]): Promise<Story> {
  const [manager, worker] = await startFleetWithHistory();
  const { repository } = manager;
  const record = { tip: '', ids: {} };
  const story: Story = { manager, worker, repository, ids: {}, record, copy: '', commits: {} };
  for (const act of acts) await act(story);
  return story;
}

export const commit =
  (files: Record<string, string | null>): Act =>
  ({ manager }) =>
    commitAndApply(manager, files);

/** A commit that no manager sees before a later act. */
export const commitUnseen =
  (files: Record<string, string>): Act =>
  ({ repository }) =>
    repository.commit(files);

/** A git command, after which the manager looks. */
export const git =
  (...args: string[]): Act =>
  async ({ repository, manager }) => {
    await repository.git(...args);
    await manager.reconcile();
  };

export const restart =
  (path = WEB): Act =>
  ({ manager }) =>
    manager.post(`${path}/restart`);

export const prune: Act = ({ manager }) => manager.post('/api/v2/prune');

export const poll: Act = async ({ worker, manager }) =>
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);

/** Remembers the head under a name. */
export const mark =
  (name: string): Act =>
  async ({ repository, commits }) => {
    commits[name] = await repository.git('rev-parse', 'HEAD');
  };

/**
 * Makes a commit with the files of another one and these parents, as a merge that took one side alone; commits are given by
 * name. The branch follows to it with `to` at `HEAD`; otherwise it gets that name.
 */
export const merge =
  (to: string, files: string, ...parents: string[]): Act =>
  async ({ repository, manager, commits }) => {
    const id = (name: string): string => commits[name] ?? name;
    const options = parents.flatMap((parent) => ['-p', id(parent)]);
    commits[to] = await repository.git('commit-tree', `${id(files)}^{tree}`, '-m', 'merge', ...options);
    if (to !== 'HEAD') return;
    await repository.git('merge', '--quiet', '--ff-only', id(to));
    delete commits[to];
    await manager.reconcile();
  };

/** Puts the record aside, once it is that of what is applied. */
export const keepRecord: Act = async (story) => {
  story.record = { tip: await waitForRecord(story.manager), ids: await idsOf(story.manager) };
};

/** Copies the data folder of the stopped manager. */
export const keepData: Act = async (story) => {
  await story.manager.stop();
  story.copy = await copyData(story.manager);
  story.manager = await story.manager.restart();
};

/** What becomes of the record while no manager runs, and what else happens then. */
interface Meanwhile {
  record?: 'as kept' | 'deleted';
  act?: Act;
}

const whileStopped =
  (
    { record, act }: Meanwhile,
    start: (story: Story, between: () => Promise<void>) => Promise<TestManager>,
  ): Act =>
  async (story) => {
    story.ids = record === 'as kept' ? story.record.ids : await idsOf(story.manager);
    story.worker.actions = [];
    story.manager = await start(story, async () => {
      if (record !== undefined) await setRecord(story.manager, record === 'deleted' ? '' : story.record.tip);
      await act?.(story);
    });
  };

/** The store is lost; the next manager starts an hour later. */
export const lose = (meanwhile: Meanwhile = {}): Act =>
  whileStopped(meanwhile, ({ manager }, between) => loseStore(manager, between));

/** The data folder is replaced by the copy. */
export const restore = (meanwhile: Meanwhile = {}): Act =>
  whileStopped(meanwhile, ({ manager, copy }, between) => restoreCopy(manager, copy, between));

/** The manager is stopped and started again. */
export const startAgain = (meanwhile: Meanwhile = {}): Act =>
  whileStopped(meanwhile, async ({ manager }, between) => {
    await manager.stop();
    await between();
    return manager.restart();
  });
