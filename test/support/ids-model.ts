import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { inDesiredState, temporaryFolder, type WhenDone } from './folder.ts';
import { type TestRepository, testRepository } from './git.ts';
import { recordTip, setRecord } from './lost-store.ts';
import { startManager, type TestManager } from './manager.ts';
import { contentOf, type Info, Worker } from './worker.ts';

export const APPS = ['a', 'b', 'c'] as const;
export const GROUPS = ['g', 'h'] as const;

/** Seconds from the loss of a store to the next start: more than the number of ids that a test gives. */
const DOWNTIME = 10_000;

/** All files of a folder of desired state, with paths below it. */
export type Files = Readonly<Record<string, string>>;

/** The devices of all groups, and what any manager ever served them. */
class Devices {
  /** For each name, the contents that were ever served, by id. */
  readonly #served = new Map<string, Map<number, string>>();
  /** Devices that see every reply. */
  readonly #always = new Map(GROUPS.map((group) => [group, new Worker(group)]));
  /** Devices that miss some replies. */
  readonly #sometimes = new Map(GROUPS.map((group) => [group, new Worker(group)]));
  /** The last id of each name since the store was last lost or replaced; no id may be lower. */
  #lastIds = new Map<string, number>();

  /** To be called when a store was lost or replaced by a copy. */
  forgetLastIds(): void {
    this.#lastIds = new Map();
  }

  /**
   * Polls every group, has the devices follow the replies, and checks the rules of docs/contract.md, 8. With
   * `sometimes`, the devices that miss some replies get this one.
   */
  async check(manager: TestManager, now: { sometimes: boolean }): Promise<void> {
    for (const group of GROUPS) {
      const { status, body } = await manager.get(`/api/v2/device_groups/${group}/info`);
      if (status !== 200) continue;
      this.#checkVersion(body);
      this.#checkIds(group, body);
      const workers = [this.#always.get(group), ...(now.sometimes ? [this.#sometimes.get(group)] : [])];
      for (const worker of workers) {
        worker?.follow(body);
        expect(worker?.agreesWith(body), 'the device runs what the reply says').toBe(true);
      }
    }
  }

  /** Expects one consistent version: exactly the apps of the list, in its order. */
  #checkVersion(info: Info): void {
    expect(info.apps.map(({ app_name }) => app_name)).toEqual(info.apps_list);
  }

  #checkIds(group: string, info: Info): void {
    const list = JSON.stringify(info.apps_list);
    this.#checkId(`group ${group}`, info.device_group_id, list);
    this.#checkId(`prune ${group}`, info.prune_id, '');
    for (const app of info.apps) this.#checkId(`app ${app.app_name}`, app.app_id, contentOf(app));
  }

  /** Expects an id above those of all other contents: a device may have seen any of them as its last one. */
  #checkId(name: string, id: number, content: string): void {
    const served = this.#served.get(name) ?? new Map<number, string>();
    for (const [earlier, other] of served)
      if (other !== content) expect(id, `${name}: ${content} comes after ${other}`).toBeGreaterThan(earlier);
    this.#served.set(name, served.set(id, content));
    expect(id, `${name} does not go down`).toBeGreaterThanOrEqual(this.#lastIds.get(name) ?? 0);
    this.#lastIds.set(name, id);
  }
}

/** Files for the manager of the other folder. */
const OTHER_FILES: Files = {
  'other/apps/a.yaml': 'container_image: i:1\n',
  'other/apps/b.yaml': 'container_image: i:1\n',
  'other/device-groups/g.yaml': 'apps: [a, b]\n',
};

/**
 * A manager with its devices, and the events that can happen to it. A second manager with its own devices can follow
 * another folder of the repository.
 */
export class World {
  manager!: TestManager;
  repository!: TestRepository;
  readonly #whenDone: WhenDone;
  /** Unix seconds. */
  #clock = 1_800_000_000;
  #dataFolder = '';
  #copies: string[] = [];
  readonly #devices = new Devices();
  /** Whether ids were given before the last loss of the store that are in no record. */
  #isLossUnrecorded = false;
  /** Whether the branch was moved back by force since the ids were certainly recorded. */
  #isForced = false;
  #other: TestManager | null = null;
  #otherDataFolder = '';
  readonly #otherDevices = new Devices();

  constructor(whenDone: WhenDone) {
    this.#whenDone = whenDone;
  }

  /** Makes the repository and starts the manager. */
  async begin(files: Files): Promise<void> {
    this.repository = await testRepository(this.#whenDone);
    this.#dataFolder = join(await temporaryFolder(this.#whenDone), 'data');
    this.#otherDataFolder = join(await temporaryFolder(this.#whenDone), 'data');
    await this.commit(files, OTHER_FILES);
    await this.#start();
  }

  /** Replaces the desired state by these files, and adds others with paths from the top of the repository. */
  async commit(files: Files, others: Files = {}): Promise<void> {
    await this.repository.git('rm', '--quiet', '-r', '--ignore-unmatch', 'desired-state');
    await this.repository.commit({ 'desired-state/README.md': 'x', ...inDesiredState(files), ...others });
  }

  async reconcile(): Promise<void> {
    expect((await this.manager.reconcile()).status).toBe(200);
  }

  /** Takes back this many commits, if there are as many, and reconciles. */
  async rewind(back: number): Promise<void> {
    const count = Number(await this.repository.git('rev-list', '--count', 'HEAD'));
    await this.repository.git('reset', '--quiet', '--hard', `HEAD~${Math.min(back, count - 1)}`);
    await this.reconcile();
    this.#isForced = true;
  }

  async restart(): Promise<void> {
    await this.manager.stop();
    this.#isForced = false;
    await this.#start();
  }

  /** Restarts the manager with the record of ids as it was before the stop, as after a loss of power. */
  async crash(): Promise<void> {
    await this.#stopUnrecorded();
    await this.#start();
  }

  /** Restarts the manager without its store; `recorded` is whether the last ids were recorded before. */
  async loseStore(how: { recorded: boolean; record: 'kept' | 'deleted' }): Promise<void> {
    this.#isLossUnrecorded = !how.recorded || (await this.#isCopyUndetectable());
    if (how.recorded) await this.manager.stop();
    else await this.#stopUnrecorded();
    await rm(this.#dataFolder, { recursive: true });
    if (how.record === 'deleted') await setRecord(this.manager, '');
    this.#forgetLastIds();
    await this.#start();
  }

  /** Copies the data folder while the manager is stopped. */
  async copyData(): Promise<void> {
    await this.manager.stop();
    const copy = join(await temporaryFolder(this.#whenDone), 'copy');
    await cp(this.#dataFolder, copy, { recursive: true });
    this.#copies.push(copy);
    await this.#start();
  }

  /** The number of copies so far. */
  get copyCount(): number {
    return this.#copies.length;
  }

  /** Restarts the manager on a copy, unless nothing could show that it is one. */
  async restoreCopy(which: number): Promise<void> {
    if (await this.#isCopyUndetectable()) return;
    await this.manager.stop();
    await rm(this.#dataFolder, { recursive: true });
    await cp(this.#copies[which % this.#copies.length] ?? '', this.#dataFolder, { recursive: true });
    this.#forgetLastIds();
    await this.#start();
  }

  /**
   * Whether nothing would show that a restored copy is one (docs/ids.md, "What is not covered"): the record is missing
   * or old, and the present store did not write it again, since a new store at a head without the folder is refused.
   */
  async #isCopyUndetectable(): Promise<boolean> {
    const { status } = await this.manager.get('/readyz');
    return status !== 200 && (this.#isLossUnrecorded || (await recordTip(this.manager)) === '');
  }

  /** The manager of the other folder, which is started by the first call. */
  async otherManager(): Promise<TestManager> {
    this.#other ??= await this.#startOther();
    return this.#other;
  }

  async restartOther(): Promise<void> {
    await this.#other?.stop();
    this.#other = await this.#startOther();
  }

  async loseOtherStore(): Promise<void> {
    await this.#other?.stop();
    await rm(this.#otherDataFolder, { recursive: true, force: true });
    this.#clock += DOWNTIME;
    this.#otherDevices.forgetLastIds();
    this.#other = await this.#startOther();
  }

  /** Checks the rules of ids on the devices of both managers. */
  async check(now: { sometimes: boolean }): Promise<void> {
    await this.#devices.check(this.manager, now);
    if (this.#other === null) return;
    expect((await this.#other.reconcile()).status).toBe(200);
    await this.#otherDevices.check(this.#other, now);
  }

  /** Runs `act`, which concerns the first manager alone, and expects that the other one serves the same as before. */
  async expectOtherUnaffected(act: () => Promise<unknown>): Promise<void> {
    const served = async () => (await this.#other?.get('/api/v2/device_groups/g/info'))?.text;
    await this.#other?.reconcile();
    const before = await served();
    await act();
    expect(await served()).toBe(before);
  }

  #forgetLastIds(): void {
    this.#clock += DOWNTIME;
    this.#devices.forgetLastIds();
  }

  /** A move by force that was not recorded is not covered (docs/ids.md): the manager first records it. */
  async #stopUnrecorded(): Promise<void> {
    if (this.#isForced) await this.restart();
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

  #startOther(): Promise<TestManager> {
    this.#clock += 1;
    return startManager({
      repository: this.repository,
      dataFolder: this.#otherDataFolder,
      now: () => this.#clock * 1000,
      settings: { CACHE_TIME: '0', DESIRED_STATE: join(this.repository.folder, 'other') },
      whenDone: this.#whenDone,
    });
  }
}
