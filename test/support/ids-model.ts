import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder, type WhenDone } from './folder.ts';
import { type TestRepository, testRepository } from './git.ts';
import { putRecord, recordTip } from './loss.ts';
import { startManager, type TestManager } from './manager.ts';
import { contentOf, type Info, Worker } from './worker.ts';

export const APPS = ['a', 'b', 'c'] as const;
export const GROUPS = ['g', 'h'] as const;

/** Seconds between a loss and the start after it; ids rise by far less than one a second. */
const A_WHILE = 10_000;

/** Desired files by path; what a commit of the test wants the folder to be. */
export type Files = Readonly<Record<string, string>>;

/** A manager and everything that can happen to it, with devices that see every reply or now and then one. */
export class World {
  manager!: TestManager;
  repository!: TestRepository;
  readonly #whenDone: WhenDone;
  #clock = 1_800_000_000;
  #dataFolder = '';
  #copies: string[] = [];
  /** Of each name: the contents that were ever served, by id. */
  readonly #served = new Map<string, Map<number, string>>();
  readonly #always = new Map(GROUPS.map((group) => [group, new Worker(group)]));
  readonly #sometimes = new Map(GROUPS.map((group) => [group, new Worker(group)]));
  /** Whether a store lives: then no id goes down. */
  #floorOfLife = new Map<string, number>();

  constructor(whenDone: WhenDone) {
    this.#whenDone = whenDone;
  }

  async begin(files: Files): Promise<void> {
    this.repository = await testRepository(this.#whenDone);
    this.#dataFolder = join(await temporaryFolder(this.#whenDone), 'data');
    await this.commit(files);
    await this.#start();
  }

  async commit(files: Files): Promise<void> {
    await this.repository.git('rm', '--quiet', '-r', '--ignore-unmatch', 'desired-state');
    const below = Object.entries(files).map(([path, text]) => [`desired-state/${path}`, text] as const);
    await this.repository.commit({ 'desired-state/README.md': 'x', ...Object.fromEntries(below) });
  }

  async reconcile(): Promise<void> {
    expect((await this.manager.reconcile()).status).toBe(200);
  }

  async restart(): Promise<void> {
    await this.manager.stop();
    await this.#start();
  }

  /** The process and what it had not recorded yet are gone, as after a loss of power; git and the store are there. */
  async crash(): Promise<void> {
    await this.#stopUnrecorded();
    await this.#start();
  }

  async loseStore(how: { recorded: boolean; record: 'kept' | 'deleted' }): Promise<void> {
    if (how.recorded) await this.manager.stop();
    else await this.#stopUnrecorded();
    await rm(this.#dataFolder, { recursive: true });
    if (how.record === 'deleted') await putRecord(this.manager, '');
    this.#forgetLife();
    await this.#start();
  }

  /** A copy is made while nothing runs, so that it is whole. */
  async copyData(): Promise<void> {
    await this.manager.stop();
    const copy = join(await temporaryFolder(this.#whenDone), 'copy');
    await cp(this.#dataFolder, copy, { recursive: true });
    this.#copies.push(copy);
    await this.#start();
  }

  get copies(): number {
    return this.#copies.length;
  }

  async restoreCopy(which: number): Promise<void> {
    if (await this.#isUntold()) return;
    await this.manager.stop();
    await rm(this.#dataFolder, { recursive: true });
    await cp(this.#copies[which % this.#copies.length] ?? '', this.#dataFolder, { recursive: true });
    this.#forgetLife();
    await this.#start();
  }

  /**
   * Whether the record is gone, and no store took its place: a new one at a head without the folder is refused. Of a copy
   * that is restored then nothing tells that it is one (docs/ids.md, "What is not covered").
   */
  async #isUntold(): Promise<boolean> {
    const { status } = await this.manager.get('/readyz');
    return status !== 200 && (await recordTip(this.manager)) === '';
  }

  /** Polls every group and checks the rules of decisions.md, "Ids", on what came. */
  async check(now: { sometimes: boolean }): Promise<void> {
    for (const group of GROUPS) {
      const { status, body } = await this.manager.get(`/api/v2/device_groups/${group}/info`);
      if (status !== 200) continue;
      this.#checkVersion(body);
      this.#checkIds(group, body);
      const workers = [this.#always.get(group), ...(now.sometimes ? [this.#sometimes.get(group)] : [])];
      for (const worker of workers) {
        worker?.follow(body);
        expect(worker?.agreesWith(body), 'the device does what the reply says').toBe(true);
      }
    }
  }

  /** One consistent version: every app of the list, once, in the order of the list. */
  #checkVersion(info: Info): void {
    expect(info.apps.map(({ app_name }) => app_name)).toEqual(info.apps_list);
  }

  #checkIds(group: string, info: Info): void {
    const list = JSON.stringify(info.apps_list);
    this.#see(`group ${group}`, info.device_group_id, list);
    this.#see(`prune ${group}`, info.prune_id, '');
    for (const app of info.apps) this.#see(`app ${app.app_name}`, app.app_id, contentOf(app));
  }

  /** A device that saw any of what was served before, and none of the rest, must act on what differs from it. */
  #see(name: string, id: number, content: string): void {
    const served = this.#served.get(name) ?? new Map<number, string>();
    for (const [earlier, other] of served)
      if (other !== content) expect(id, `${name}: ${content} comes after ${other}`).toBeGreaterThan(earlier);
    this.#served.set(name, served.set(id, content));
    expect(id, `${name} does not go down`).toBeGreaterThanOrEqual(this.#floorOfLife.get(name) ?? 0);
    this.#floorOfLife.set(name, id);
  }

  #forgetLife(): void {
    this.#clock += A_WHILE;
    this.#floorOfLife = new Map();
  }

  async #stopUnrecorded(): Promise<void> {
    const tip = await recordTip(this.manager);
    await this.manager.stop();
    await putRecord(this.manager, tip);
  }

  async #start(): Promise<void> {
    this.#clock += 1;
    this.manager = await startManager({
      repository: this.repository,
      dataFolder: this.#dataFolder,
      now: () => this.#clock * 1000,
      settings: { CACHE_TIME: '0' },
      whenDone: this.#whenDone,
    });
  }
}
