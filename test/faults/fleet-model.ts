import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { FAULT_POINTS, type FaultPoint } from '../../src/faults.ts';
import { writeFiles } from '../support/folder.ts';
import type { TestRepository } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { type ProcessManager, type ProcessOptions, tryStart } from '../support/process-manager.ts';

/** What devices see of an app; null for one that is not there. */
type Seen = { id: number; content: string } | null;

/** A write as a client sends it, and what it wants the app to be. */
interface Write {
  name: string;
  method: string;
  path: string;
  body?: unknown;
  /** A restart changes nothing but the id. */
  isRestart?: boolean;
  isDelete?: boolean;
}

/** A client that remembers every answer, and checks what is there against all of them. */
export class Client {
  /** What the last answer said of each app. */
  readonly #answered = new Map<string, Seen>();
  /** Every content that an id was ever seen with. */
  readonly #contents = new Map<string, string>();
  readonly #revisions: string[] = [];
  #unanswered: Write | null = null;
  #count = 0;

  /** Writes until the manager dies, or `limit` writes are answered; resolves to how many were. */
  async writeUntilDeath(manager: ProcessManager, limit: number): Promise<number> {
    for (let answered = 0; answered < limit; answered++) {
      const write = this.#next();
      this.#unanswered = write;
      const reply = await manager.request(write.method, write.path, write.body).catch(() => null);
      if (reply === null) return answered;
      expect([200, 202], `${write.method} ${write.path}: ${reply.text}`).toContain(reply.status);
      this.#unanswered = null;
      this.#answered.set(write.name, write.isDelete === true ? null : this.#see(write.name, reply.body));
      const revision = reply.headers.get('holdfast-revision');
      if (revision !== null) this.#revisions.push(revision);
    }
    return limit;
  }

  /** Everything that was answered is there, and nothing else but perhaps the one write that was not. */
  async expectKept(manager: ProcessManager, repository: TestRepository): Promise<void> {
    const names = new Set([...this.#answered.keys(), ...(this.#unanswered ? [this.#unanswered.name] : [])]);
    for (const name of names) {
      const answered = this.#answered.get(name) ?? null;
      const reply = await manager.request('GET', `/api/v2/apps/${name}`);
      const now = reply.status === 200 ? this.#see(name, reply.body) : null;
      const open = this.#unanswered?.name === name ? this.#unanswered : null;
      expectSuccessor(answered, now, open);
      this.#answered.set(name, now);
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
    const isThere = write.name === 'web' || (this.#answered.get(write.name) ?? null) !== null;
    // What was not answered may not have happened: then it is made now.
    return isThere || (write.path === extra && write.isDelete !== true)
      ? write
      : { name: write.name, method: 'POST', path: extra, body: image };
  }
}

/** What follows an answer: the same, or what the one open write makes of it. */
function expectSuccessor(answered: Seen, now: Seen, open: Write | null): void {
  if (open === null) {
    expect(now).toEqual(answered);
    return;
  }
  if (now === null) {
    expect(answered === null || open.isDelete === true).toBe(true);
    return;
  }
  const isSame = now.content === answered?.content;
  if (answered !== null && isSame) {
    expect([answered.id, ...(open.isRestart === true ? [answered.id + 1] : [])]).toContain(now.id);
  } else if (answered !== null) expect(now.id).toBe(answered.id + 1);
}

/** Starts a manager that dies at a point, and writes until it is dead. */
export async function dieAt(options: ProcessOptions, fault: string, client: Client): Promise<void> {
  const manager = await tryStart({ ...options, env: { ...options.env, HOLDFAST_FAULT: fault } });
  if (manager === null || !(await manager.isReady())) return;
  expect(await client.writeUntilDeath(manager, 50), `${fault} was never passed`).toBeLessThan(50);
  await manager.kill();
}

/** Points that come by once, at the first start. */
const ONCE: readonly FaultPoint[] = ['seed-done'];
/** Points that come by at the first start already, and again in writes, so that two deaths are of interest. */
const AT_START: readonly FaultPoint[] = ['pass-begins', 'claim-begins', 'claim-done', 'apply-done'];

/** Faults at the first start. */
export const FIRST_FAULTS: readonly string[] = [...AT_START, ...ONCE];

/** Faults in the middle of writes, at all points but those that writes do not come by. */
export function faultsInWrites(elsewhere: readonly FaultPoint[]): string[] {
  const points = FAULT_POINTS.filter((point) => ![...elsewhere, ...ONCE].includes(point));
  return points.map((point) => (AT_START.includes(point) ? `${point}:6` : `${point}:2`));
}

const STAGED = 'staged\n';
const WORK = {
  'else.txt': 'staged, and edited after that\n',
  'notes.txt': 'nobody knows this file\n',
  'desired-state/apps/cron.yaml': '# half a thought\ncontainer_image: cron:4\n',
};
const WORK_STATUS = ' M desired-state/apps/cron.yaml\nMM else.txt\n?? notes.txt';

/** Staged, edited and unknown files beside those that the API writes. */
export async function beginWork(repository: TestRepository): Promise<void> {
  await writeFiles(repository.folder, { 'else.txt': STAGED });
  await repository.git('add', 'else.txt');
  await writeFiles(repository.folder, WORK);
}

/** The work is there byte for byte, nothing else differs from HEAD, and the repository is whole. */
export async function expectSoundRepository({ folder, git }: TestRepository): Promise<void> {
  expect(await git('status', '--porcelain', '--untracked-files=all')).toBe(WORK_STATUS);
  expect(`${await git('show', ':else.txt')}\n`).toBe(STAGED);
  for (const [path, text] of Object.entries(WORK)) {
    expect(await readFile(join(folder, path), 'utf8')).toBe(text);
  }
  await expectIntact(folder);
}
