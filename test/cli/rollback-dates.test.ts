import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CommandResult, runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import {
  dateCommit,
  repositoryAt,
  type TestRepository,
  testRepository,
  USER_ENVIRONMENT,
} from '../support/git.ts';
import { PASSWORD, startManager, USER } from '../support/manager.ts';

const DAY = 86_400_000;
const WEB = 'apps/web.yaml';

const image = (n: number): string => `container_image: web:${n}\n`;

/** Commits version `n` of `web` with this committer date. */
async function commitAt(repository: TestRepository, n: number, date: Date | string): Promise<string> {
  await repository.commit(inDesiredState({ [WEB]: image(n) }));
  return dateCommit(repository, new Date(date).getTime());
}

/** A repository with a commit for each of these dates, which brings version 1, 2, 3 of `web`. */
async function fleet(
  ...dates: (Date | string)[]
): Promise<{ repository: TestRepository; commits: string[] }> {
  const repository = await testRepository();
  const commits: string[] = [];
  for (const [index, date] of dates.entries()) commits.push(await commitAt(repository, index + 1, date));
  return { repository, commits };
}

function run({ folder }: TestRepository, to: string, env: object = {}): Promise<CommandResult> {
  return runCli(['rollback', 'app/web', '--to', to, '--desired-state', join(folder, 'desired-state')], {
    env: { ...USER_ENVIRONMENT, ...env },
  });
}

const web = ({ folder }: TestRepository): Promise<string> =>
  readFile(join(folder, 'desired-state', WEB), 'utf8');

const ago = (days: number): Date => new Date(Date.now() - days * DAY);

describe('rollback --to a time', () => {
  it('goes back to the newest commit of 24 hours ago with yesterday, and names it', async () => {
    const { repository, commits } = await fleet(ago(3), ago(1.1), ago(0.9));
    const { code, err } = await run(repository, 'yesterday');
    expect([code, await web(repository)]).toEqual([0, image(2)]);
    expect(err).toBe(`yesterday is commit ${commits[1]?.slice(0, 12)}.\n`);
  });

  it.each([
    ['2026-03-02T12:00:00Z', 2],
    ['2026-03-02T11:59:59.900Z', 1],
    ['2026-03-02T13:00+01:00', 2],
    ['2026-03-02T12:59+01:00', 1],
  ])('reads %s', async (time, version) => {
    const { repository } = await fleet(
      '2026-03-01T12:00:00Z',
      '2026-03-02T12:00:00Z',
      '2026-03-03T12:00:00Z',
    );
    expect((await run(repository, time)).code).toBe(0);
    expect(await web(repository)).toBe(image(version));
  });

  it('takes a date without a zone as one of this machine, and a day as its beginning', async () => {
    const { repository } = await fleet(
      new Date(2026, 2, 1, 12),
      new Date(2026, 2, 2, 0),
      new Date(2026, 2, 2, 0, 0, 1),
      new Date(2026, 2, 2, 12),
      new Date(2026, 2, 3),
    );
    expect((await run(repository, '2026-03-02')).code).toBe(0);
    expect(await web(repository)).toBe(image(2));
    await repository.git('checkout', '--quiet', '.');
    expect((await run(repository, '2026-03-02T00:01')).code).toBe(0);
    expect(await web(repository)).toBe(image(3));
  });

  it('follows the first parents alone', async () => {
    const { repository } = await fleet('2026-03-01T12:00:00Z');
    await repository.git('switch', '--quiet', '--create', 'topic');
    const side = await commitAt(repository, 2, '2026-03-02T12:00:00Z');
    await repository.git('update-ref', 'refs/heads/main', `${side}~1`);
    await repository.git('switch', '--quiet', '--force', 'main');
    await repository.git('merge', '--quiet', '--no-ff', '--no-edit', side);
    expect((await run(repository, '2026-03-04')).code).toBe(0);
    expect(await web(repository)).toBe(image(1));
  });

  it('prefers a tag of that name', async () => {
    const { repository, commits } = await fleet('2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z', ago(0));
    await repository.git('tag', '2026-03-05', commits[0] ?? '');
    expect((await run(repository, '2026-03-05')).code).toBe(0);
    expect(await web(repository)).toBe(image(1));
  });

  it.each([
    ['2100-01-01', '2100-01-01 is in the future'],
    ['2020-01-01', 'no commit of this branch was made by 2020-01-01'],
    ['1950-01-01', 'no commit of this branch was made by 1950-01-01'],
    [
      '2026-02-30',
      '"2026-02-30" is not a commit of this repository; a time is yesterday, or a date such as 2026-11-01 or 2026-11-01T18:00',
    ],
    ['2026-03-01T25:00', 'a time is yesterday, or a date such as'],
    ['last week', 'a time is yesterday, or a date such as'],
  ])('refuses %s, and changes nothing', async (time, message) => {
    const { repository } = await fleet('2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z');
    expect(await run(repository, time)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  it('says of a shallow clone that older commits are not in it', async () => {
    const { repository } = await fleet('2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z');
    const folder = join(await temporaryFolder(), 'clone');
    await repository.git('clone', '--quiet', '--depth', '1', `file://${repository.folder}`, folder);
    expect((await run(repositoryAt(folder), '2026-03-01T18:00')).err).toContain('this clone is shallow');
  });
});

describe('rollback --to a time, with a manager to ask', () => {
  /** A manager that applied the versions 1 to 3, all made an hour before the first, at 12:00 of three days in a row. */
  async function managed(): Promise<{ repository: TestRepository; commits: string[]; env: object }> {
    let now = Date.parse('2026-03-01T12:00:00Z');
    const { repository, commits } = await fleet('2026-03-01T11:00:00Z');
    const manager = await startManager({ repository, now: () => now });
    for (const n of [2, 3]) {
      now += DAY;
      commits.push(await commitAt(repository, n, '2026-03-01T11:00:00Z'));
      await manager.reconcile();
      await manager.post('/api/v2/apps/web/restart');
    }
    while (!(await manager.get('/api/v2/history')).body.complete);
    const env = { HOLDFAST: manager.service.address, CREDENTIALS: `${USER}:${PASSWORD}` };
    return { repository, commits, env };
  }

  const runIn = ({ folder }: TestRepository, to: string, env: object): Promise<CommandResult> =>
    runCli(['rollback', 'app/web', '--to', to], {
      env: { ...USER_ENVIRONMENT, ...env, DESIRED_STATE: join(folder, 'desired-state') },
    });

  it('goes back to the commit that was applied then, whenever it was made', async () => {
    const { repository, commits, env } = await managed();
    const { code, err } = await runIn(repository, '2026-03-02T12:00Z', env);
    expect([code, await web(repository)]).toEqual([0, image(2)]);
    expect(err).toBe(`2026-03-02T12:00Z is commit ${commits[1]?.slice(0, 12)}.\n`);
    await repository.git('checkout', '--quiet', '.');
    await runIn(repository, '2026-03-02T11:59Z', env);
    expect(await web(repository)).toBe(image(1));
  });

  it('takes the dates of commits with --desired-state, and asks nobody for a revision', async () => {
    const { repository } = await managed();
    const env = { HOLDFAST: 'http://127.0.0.1:1' };
    expect((await run(repository, '2026-03-01T18:00Z', env)).err).toMatch(/is commit/);
    expect((await runIn(repository, 'HEAD~1', env)).code).toBe(0);
    expect(await runIn(repository, '2026-03-01T18:00Z', env)).toMatchObject({ code: 3 });
  });

  it('refuses a time before the manager applied anything, and a commit that the clone lacks', async () => {
    const { repository, commits, env } = await managed();
    expect(await runIn(repository, '2026-03-01T11:59Z', env)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/HOLDFAST\S* had applied nothing by 2026-03-01 \S+; with --desired-state/),
    });
    const other = await fleet('2026-03-01T11:00:00Z');
    expect(await runIn(other.repository, '2026-03-02T18:00Z', env)).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        new RegExp(`applied ${commits[1]?.slice(0, 12)}, which is not in this clone: git fetch`),
      ),
    });
  });
});
