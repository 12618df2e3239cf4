import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { inDesiredState, temporaryFolder, type WhenDone } from './folder.ts';
import { type TestRepository, testRepository } from './git.ts';
import { recordTip, setRecord } from './lost-store.ts';
import { startManager, type TestManager } from './manager.ts';
import { sectionVersion } from './record-files.ts';
import { contentOf, type Info, Worker } from './worker.ts';

export const APPS = ['a', 'b', 'c'] as const;
export const GROUPS = ['g', 'h'] as const;

/** Seconds between a loss and the start after it; ids rise by far less than one a second. */
const A_WHILE = 10_000;

/** Desired files by path; what a commit of the test wants the folder to be. */
export type Files = Readonly<Record<string, string>>;

/** What devices have been told, by whichever manager served them; some see every reply, and some now and then one. */
class Devices {
  /** Of each name: the contents that were ever served, by id. */
  readonly #served = new Map<string, Map<number, string>>();
  readonly #always = new Map(GROUPS.map((group) => [group, new Worker(group)]));
  readonly #sometimes = new Map(GROUPS.map((group) => [group, new Worker(group)]));
  /** While a store lives, no id goes down. */
  #floorOfLife = new Map<string, number>();

  forgetLife(): void {
    this.#floorOfLife = new Map();
  }

  /** Polls every group and checks the rules of decisions.md, "Ids", on what came. */
  async check(manager: TestManager, now: { sometimes: boolean }): Promise<void> {
    for (const group of GROUPS) {
      const { status, body } = await manager.get(`/api/v2/device_groups/${group}/info`);
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
}

/** Files of the other folder, which is there from the first commit on. */
const BESIDE: Files = {
  'neighbour/apps/a.yaml': 'container_image: i:1\n',
  'neighbour/apps/b.yaml': 'container_image: i:1\n',
  'neighbour/device-groups/g.yaml': 'apps: [a, b]\n',
};

/**
 * A manager and everything that can happen to it, with its devices. Another manager, of another folder, can live beside it, with
 * devices of its own.
 */
export class World {
  manager!: TestManager;
  repository!: TestRepository;
  readonly #whenDone: WhenDone;
  #clock = 1_800_000_000;
  #dataFolder = '';
  #copies: string[] = [];
  readonly #devices = new Devices();
  /** Whether the last loss took changes along that no store and no record after it has. */
  #isLossUnrecorded = false;
  #neighbour: TestManager | null = null;
  #neighboursFolder = '';
  readonly #neighboursDevices = new Devices();

  constructor(whenDone: WhenDone) {
    this.#whenDone = whenDone;
  }

  async begin(files: Files): Promise<void> {
    this.repository = await testRepository(this.#whenDone);
    this.#dataFolder = join(await temporaryFolder(this.#whenDone), 'data');
    this.#neighboursFolder = join(await temporaryFolder(this.#whenDone), 'data');
    await this.commit(files, BESIDE);
    await this.#start();
  }

  async commit(files: Files, beside: Files = {}): Promise<void> {
    await this.repository.git('rm', '--quiet', '-r', '--ignore-unmatch', 'desired-state');
    await this.repository.commit({ 'desired-state/README.md': 'x', ...inDesiredState(files), ...beside });
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
    this.#isLossUnrecorded = !how.recorded || (await this.#isUntold());
    if (how.recorded) await this.manager.stop();
    else await this.#stopUnrecorded();
    await rm(this.#dataFolder, { recursive: true });
    if (how.record === 'deleted') await setRecord(this.manager, '');
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
   * Whether the record is gone or as old as a copy can be, and no store took its place: a new one at a head without the
   * folder is refused. Of a copy that is restored then nothing tells that it is one (docs/ids.md, "What is not covered").
   */
  async #isUntold(): Promise<boolean> {
    const { status } = await this.manager.get('/readyz');
    return status !== 200 && (this.#isLossUnrecorded || (await sectionVersion(this.repository)) === '');
  }

  /** The manager of the other folder, which begins to live with the first thing that happens to it. */
  async neighbour(): Promise<TestManager> {
    this.#neighbour ??= await this.#startNeighbour();
    return this.#neighbour;
  }

  async restartNeighbour(): Promise<void> {
    await this.#neighbour?.stop();
    this.#neighbour = await this.#startNeighbour();
  }

  async loseNeighboursStore(): Promise<void> {
    await this.#neighbour?.stop();
    await rm(this.#neighboursFolder, { recursive: true, force: true });
    this.#clock += A_WHILE;
    this.#neighboursDevices.forgetLife();
    this.#neighbour = await this.#startNeighbour();
  }

  async check(now: { sometimes: boolean }): Promise<void> {
    await this.#devices.check(this.manager, now);
    if (this.#neighbour === null) return;
    expect((await this.#neighbour.reconcile()).status).toBe(200);
    await this.#neighboursDevices.check(this.#neighbour, now);
  }

  /** What happens to the one manager alone changes nothing of what the other one says. */
  async aloneWith(act: () => Promise<unknown>): Promise<void> {
    const said = async () => (await this.#neighbour?.get('/api/v2/device_groups/g/info'))?.text;
    await this.#neighbour?.reconcile();
    const before = await said();
    await act();
    expect(await said()).toBe(before);
  }

  #forgetLife(): void {
    this.#clock += A_WHILE;
    this.#devices.forgetLife();
  }

  async #stopUnrecorded(): Promise<void> {
    const tip = await recordTip(this.manager);
    await this.manager.stop();
    await setRecord(this.manager, tip);
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

  #startNeighbour(): Promise<TestManager> {
    this.#clock += 1;
    return startManager({
      repository: this.repository,
      dataFolder: this.#neighboursFolder,
      now: () => this.#clock * 1000,
      settings: { CACHE_TIME: '0', DESIRED_STATE: join(this.repository.folder, 'neighbour') },
      whenDone: this.#whenDone,
    });
  }
}
