import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { FAULT_POINTS, type FaultPoint } from '../../src/faults.ts';
import { writeFiles } from '../support/folder.ts';
import type { TestRepository } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { type ProcessManager, type ProcessOptions, tryStart } from '../support/process-manager.ts';

/** An app as devices see it; null if it does not exist. */
type Seen = { id: number; content: string } | null;

/** A write of the app `name`. */
interface Write {
  name: string;
  method: string;
  path: string;
  body?: unknown;
  /** Whether it changes only the id. */
  isRestart?: boolean;
  isDelete?: boolean;
}

/** A client that remembers every acknowledged write, and checks that the fleet still shows them. */
export class Client {
  /** Each app as the last reply showed it. */
  readonly #acknowledged = new Map<string, Seen>();
  /** The content that each id was first seen with. */
  readonly #contents = new Map<string, string>();
  /** The commits of the acknowledged writes. */
  readonly #revisions: string[] = [];
  /** The write that the manager did not answer before it died. */
  #unanswered: Write | null = null;
  #count = 0;

  /** Writes until the manager dies or `limit` writes are acknowledged; resolves to the number of these. */
  async writeUntilDeath(manager: ProcessManager, limit: number): Promise<number> {
    for (let answered = 0; answered < limit; answered++) {
      const write = this.#next();
      this.#unanswered = write;
      const reply = await manager.request(write.method, write.path, write.body).catch(() => null);
      if (reply === null) return answered;
      expect([200, 202], `${write.method} ${write.path}: ${reply.text}`).toContain(reply.status);
      this.#unanswered = null;
      this.#acknowledged.set(write.name, write.isDelete === true ? null : this.#see(write.name, reply.body));
      const revision = reply.headers.get('holdfast-revision');
      if (revision !== null) this.#revisions.push(revision);
    }
    return limit;
  }

  /** Checks that every acknowledged write is there, and nothing else except perhaps the one that was not answered. */
  async expectKept(manager: ProcessManager, repository: TestRepository): Promise<void> {
    const names = new Set([
      ...this.#acknowledged.keys(),
      ...(this.#unanswered ? [this.#unanswered.name] : []),
    ]);
    for (const name of names) {
      const acknowledged = this.#acknowledged.get(name) ?? null;
      const reply = await manager.request('GET', `/api/v2/apps/${name}`);
      const now = reply.status === 200 ? this.#see(name, reply.body) : null;
      const open = this.#unanswered?.name === name ? this.#unanswered : null;
      expectSuccessor(acknowledged, now, open);
      this.#acknowledged.set(name, now);
    }
    this.#unanswered = null;
    for (const revision of new Set(this.#revisions)) {
      await repository.git('merge-base', '--is-ancestor', revision, 'HEAD');
    }
  }

  #see(name: string, { app_id: id, _id, ...fields }: Record<string, unknown>): Seen {
    const content = JSON.stringify(fields);
    const known = this.#contents.get(`${name} ${id}`);
    expect(known ?? content, `${name}: the id ${id} was used for something else`).toBe(content);
    this.#contents.set(`${name} ${id}`, content);
    return { id: id as number, content };
  }

  #next(): Write {
    const turn = this.#count++;
    const round = Math.floor(turn / 6);
    const web = '/api/v2/apps/web';
    const extra = `/api/v2/apps/extra-${round}`;
    const image = { container_image: `i:${turn}` };
    const rows: Write[] = [
      { name: 'web', method: 'PUT', path: `${web}/update`, body: image },
      { name: `extra-${round}`, method: 'POST', path: extra, body: image },
      { name: 'web', method: 'POST', path: `${web}/restart`, isRestart: true },
      { name: `extra-${round}`, method: 'POST', path: `${extra}/stop` },
      { name: 'web', method: 'POST', path: `${web}/update`, body: { ...image, env_vars: { A: `${turn}` } } },
      { name: `extra-${round}`, method: 'DELETE', path: extra, isDelete: true },
    ];
    const write = rows[turn % rows.length] as Write;
    const exists = write.name === 'web' || (this.#acknowledged.get(write.name) ?? null) !== null;
    // The app is missing if its create was not answered and did not happen: then it is created now.
    return exists || (write.path === extra && write.isDelete !== true)
      ? write
      : { name: write.name, method: 'POST', path: extra, body: image };
  }
}

/** Checks that an app is as it was acknowledged, or as the one unanswered write makes it. */
function expectSuccessor(acknowledged: Seen, now: Seen, open: Write | null): void {
  if (open === null) {
    expect(now).toEqual(acknowledged);
    return;
  }
  if (now === null) {
    expect(acknowledged === null || open.isDelete === true).toBe(true);
    return;
  }
  const isSame = now.content === acknowledged?.content;
  if (acknowledged !== null && isSame) {
    expect([acknowledged.id, ...(open.isRestart === true ? [acknowledged.id + 1] : [])]).toContain(now.id);
  } else if (acknowledged !== null) expect(now.id).toBe(acknowledged.id + 1);
}

/** Starts a manager that is killed at a fault point, and writes until it is dead. */
export async function dieAt(options: ProcessOptions, fault: string, client: Client): Promise<void> {
  const manager = await tryStart({ ...options, env: { ...options.env, HOLDFAST_FAULT: fault } });
  if (manager === null || !(await manager.isReady())) return;
  expect(await client.writeUntilDeath(manager, 50), `${fault} was never passed`).toBeLessThan(50);
  await manager.kill();
}

/** Points that are reached once, at the first start. */
const ONCE: readonly FaultPoint[] = ['seed-done'];
/** Points that are reached both at the first start and in writes: the process is killed at both. */
const AT_START: readonly FaultPoint[] = [
  'pass-begins',
  'claim-begins',
  'claim-done',
  'apply-done',
  'entries-added',
];

/** Values of `HOLDFAST_FAULT` that kill the process at its first start. */
export const FIRST_FAULTS: readonly string[] = [...AT_START, ...ONCE];

/** Points that no manager reaches. */
const OF_WORKERS: readonly FaultPoint[] = ['worker-step-begins', 'worker-step-done'];

/** Values of `HOLDFAST_FAULT` that kill the process during writes, one for each point except those that writes do not reach. */
export function faultsInWrites(unreached: readonly FaultPoint[]): string[] {
  const points = FAULT_POINTS.filter((point) => ![...unreached, ...ONCE, ...OF_WORKERS].includes(point));
  return points.map((point) => (AT_START.includes(point) ? `${point}:6` : `${point}:2`));
}

const STAGED = 'staged\n';
const WORK = {
  'else.txt': 'staged, and edited after that\n',
  'notes.txt': 'untracked\n',
  'desired-state/apps/cron.yaml': '# edited\ncontainer_image: cron:4\n',
};
const WORK_STATUS = ' M desired-state/apps/cron.yaml\nMM else.txt\n?? notes.txt';

/** Leaves uncommitted work in files that the API does not write: staged, edited and untracked ones. */
export async function leaveUncommittedWork(repository: TestRepository): Promise<void> {
  await writeFiles(repository.folder, { 'else.txt': STAGED });
  await repository.git('add', 'else.txt');
  await writeFiles(repository.folder, WORK);
}

/** Checks that the uncommitted work is still there byte for byte, that nothing else differs from HEAD, and that git finds no damage. */
export async function expectSoundRepository({ folder, git }: TestRepository): Promise<void> {
  expect(await git('status', '--porcelain', '--untracked-files=all')).toBe(WORK_STATUS);
  expect(`${await git('show', ':else.txt')}\n`).toBe(STAGED);
  for (const [path, text] of Object.entries(WORK)) {
    expect(await readFile(join(folder, path), 'utf8')).toBe(text);
  }
  await expectIntact(folder);
}
