import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRefMover } from '../../../../src/source/git/write/ref-mover.ts';
import { failureOf } from '../process/failure.ts';
import { machineWith, newRepository, repositoryOf } from '../support.ts';

/** A repository with three commits on `main`, oldest first, and a mover of its refs. */
async function opened() {
  const fleet = await newRepository();
  const commits: string[] = [];
  for (const text of ['one', 'two', 'three']) {
    await fleet.commit({ 'a.txt': text });
    commits.push((await fleet.git('rev-parse', 'HEAD')).trim());
  }
  const refs = openRefMover(repositoryOf(fleet.folder));
  onTestFinished(() => refs.close());
  const tip = async (): Promise<string> => (await fleet.git('rev-parse', 'refs/heads/main')).trim();
  const [one = '', two = '', three = ''] = commits;
  return { ...fleet, refs, tip, one, two, three };
}

describe('RefMover', () => {
  it('moves a ref several times', async () => {
    const { refs, tip, one, two, three } = await opened();
    await refs.move('refs/heads/main', three, one);
    expect(await tip()).toBe(one);
    await refs.move('refs/heads/main', one, two);
    expect(await tip()).toBe(two);
  });

  it('creates a ref, and refuses to create it again', async () => {
    const { refs, git, one, two } = await opened();
    await refs.move('refs/heads/new', null, one);
    const failure = await failureOf(refs.move('refs/heads/new', null, two));
    expect(failure.stderr).toMatch(/cannot lock ref .*: reference already exists/);
    expect((await git('rev-parse', 'refs/heads/new')).trim()).toBe(one);
  });

  it('does not move a ref that is not at the expected commit, and works on after that', async () => {
    const { refs, tip, one, two, three } = await opened();
    const failure = await failureOf(refs.move('refs/heads/main', two, one));
    expect(failure).toMatchObject({ exitCode: 128, stderr: expect.stringMatching(/is at .* but expected/) });
    expect(await tip()).toBe(three);
    await refs.move('refs/heads/main', three, two);
    expect(await tip()).toBe(two);
  });

  it('sees a move by another process, even into packed refs', async () => {
    const { refs, git, tip, one, two, three } = await opened();
    await refs.move('refs/heads/main', three, one);
    await git('update-ref', 'refs/heads/main', two);
    await git('pack-refs', '--all');
    await refs.move('refs/heads/main', two, three);
    expect(await tip()).toBe(three);
  });

  it('writes the time of each move into the reflog, to about a second, however often git was started', async () => {
    const { refs, git, one, two, three } = await opened();
    await refs.move('refs/heads/main', three, one);
    await sleep(1100);
    await refs.move('refs/heads/main', one, two);
    await sleep(2100);
    await refs.move('refs/heads/main', two, three);
    const times = (await git('log', '--walk-reflogs', '--format=%gd', '--date=unix', '-2', 'main'))
      .split('\n')
      .map((line) => Number(/\d+/.exec(line)?.[0]));
    expect((times[0] ?? 0) - (times[1] ?? 0)).toBeGreaterThanOrEqual(1);
  });

  it('waits for a slow git up to the time limit of a call', async () => {
    const { folder, tip, one, three } = await opened();
    const repository = repositoryOf(folder);
    const PATH = (await machineWith('sleep 4')).env['PATH'] ?? '';
    const context = { ...repository.context, env: { ...repository.context.env, PATH } };
    const refs = openRefMover({ ...repository, context });
    onTestFinished(() => refs.close());
    await refs.move('refs/heads/main', three, one);
    expect(await tip()).toBe(one);
  });

  it('leaves no process behind that was prepared but not used', async () => {
    const { refs, tip, three } = await opened();
    refs.prepare();
    await refs.close();
    expect(await tip()).toBe(three);
  });
});
