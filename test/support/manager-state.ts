import { expect } from 'vitest';
import { type Checkout, checkoutOf } from './checkout.ts';
import type { TestRepository } from './git.ts';
import type { TestManager } from './manager.ts';

/** The records of all apps and device groups by name, with their ids. */
export interface Records {
  apps: Record<string, unknown>;
  groups: Record<string, unknown>;
}

/** Everything that a request can change: commits, checkout, and every record with its ids. */
export type ManagerState = Checkout & Records;

/** Reads this state. The commit of the head stands for all commits before it. */
export async function managerState(manager: TestManager): Promise<ManagerState> {
  const [checkout, records] = await Promise.all([checkoutOf(manager.repository), recordsOf(manager)]);
  return { ...checkout, ...records };
}

/** Reads all records through the API. */
export async function recordsOf(manager: TestManager): Promise<Records> {
  const [apps, groups] = await Promise.all([
    recordsAt(manager, '/api/v2/apps', 'apps'),
    recordsAt(manager, '/api/v2/device_groups', 'device_groups'),
  ]);
  return { apps, groups };
}

async function recordsAt(manager: TestManager, path: string, list: string): Promise<Record<string, unknown>> {
  const names: string[] = (await manager.get(path)).body[list];
  const entries = names.map(
    async (name) => [name, (await manager.get(`${path}/${encodeURIComponent(name)}`)).body] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/** Runs `act` and expects that it changed no commit, no record, no id and no byte of the checkout. */
export async function expectNothingWritten<T>(manager: TestManager, act: () => Promise<T>): Promise<T> {
  const before = await managerState(manager);
  const result = await act();
  expect(await managerState(manager)).toEqual(before);
  return result;
}

/** Sends a request and expects that it is refused with this status and has changed nothing. */
export async function expectRefused<R extends { status: number }>(
  manager: TestManager,
  status: number,
  send: () => Promise<R>,
): Promise<R> {
  const reply = await expectNothingWritten(manager, send);
  expect(reply.status).toBe(status);
  return reply;
}

/** A commit as `git log` shows it. */
export interface LoggedCommit {
  id: string;
  /** `name <address>`, as is `committer`. */
  author: string;
  committer: string;
  subject: string;
  trailers: string[];
  /** Changed paths with their status letter: `M desired-state/apps/web.yaml`. */
  files: string[];
}

/** The commit of `HEAD`. */
export async function lastCommit({ git }: TestRepository): Promise<LoggedCommit> {
  const format = '%H%n%an <%ae>%n%cn <%ce>%n%s%n%(trailers:only,unfold)';
  const [id = '', author = '', committer = '', subject = '', ...trailers] = (
    await git('log', '-1', `--format=${format}`)
  ).split('\n');
  const files = await git('show', '--format=', '--name-status', '--no-renames', 'HEAD');
  return {
    id,
    author,
    committer,
    subject,
    trailers: trailers.filter(Boolean),
    files: files
      .split('\n')
      .filter(Boolean)
      .map((line) => line.replace('\t', ' ')),
  };
}

/** The lines of a file that the last commit removed and added: `-a`, `+b`. */
export async function changedLines({ git }: TestRepository, path: string): Promise<string[]> {
  const text = await git('diff', '--unified=0', 'HEAD~1', 'HEAD', '--', path);
  return text.split('\n').filter((line) => /^[+-]/.test(line) && !/^(---|\+\+\+) /.test(line));
}

/** The number of commits in the history of `HEAD`. */
export async function commitCount({ git }: TestRepository): Promise<number> {
  return Number(await git('rev-list', '--count', 'HEAD'));
}
