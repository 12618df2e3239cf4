import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openRemote } from '../../../../src/source/git/mirror/remote.ts';
import { moveRefs } from '../../../../src/source/git/refs/move.ts';
import { refTips } from '../../../../src/source/git/refs/tips.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt } from '../../../support/git.ts';
import { remoteOptions } from '../../../support/origin.ts';

const OWN = 'refs/holdfast/record/0123456789ab';

/** A `git` that first runs these lines of shell, and a function that replaces them. */
async function scriptedGit(lines: string): Promise<{ path: string; behave(lines: string): Promise<void> }> {
  const folder = await temporaryFolder();
  const path = process.env['PATH'] as string;
  const behave = (text: string): Promise<void> =>
    writeFile(join(folder, 'git'), `#!/bin/sh\n${text}\nPATH='${path}' exec git "$@"\n`, { mode: 0o755 });
  await behave(lines);
  return { path: `${folder}:${path}`, behave };
}

/** Creates an origin with one commit; at `path`, if given, instead of what is there. */
async function createOrigin(format: string, path?: string): Promise<{ url: string; tip: string }> {
  const folder = await temporaryFolder();
  const clone = repositoryAt(join(folder, 'clone'));
  await mkdir(clone.folder);
  await clone.git('init', '--quiet', '--initial-branch=main', `--object-format=${format}`);
  const tip = await clone.commit({ 'desired-state/apps/web.yaml': 'container_image: a\n' });
  const url = path ?? join(folder, 'origin.git');
  await rm(url, { recursive: true, force: true });
  await clone.git('clone', '--quiet', '--bare', clone.folder, url);
  return { url, tip };
}

async function follow(url: string, path: string, dataFolder: string) {
  const source = await openRemote(remoteOptions(url, dataFolder, path));
  onTestFinished(source.close);
  return source;
}

it.each([0, 1, 2])(
  'an origin that changes its object format back and forth is followed by protocol %s',
  async (version) => {
    const { path } = await scriptedGit(`set -- -c protocol.version=${version} "$@"`);
    const first = await createOrigin('sha256');
    const source = await follow(first.url, path, await temporaryFolder());
    await source.origin.refresh();
    expect((await source.reader.head()).revision).toBe(first.tip);
    for (const format of ['sha1', 'sha256']) {
      const { tip } = await createOrigin(format, first.url);
      await source.origin.refresh();
      expect((await source.reader.head()).revision).toBe(tip);
    }
  },
);

it.each([
  'fatal: remote error: mismatched algorithms: client sha1; server sha256',
  "remote: fatal: the server does not support algorithm 'x'",
  'fatal: mismatched algorithms: client sha1; server sha1',
])('a mirror with the only copy of the record is not replaced because of the message: %s', async (text) => {
  const git = await scriptedGit('');
  const { url, tip } = await createOrigin('sha1');
  const source = await follow(url, git.path, await temporaryFolder());
  await source.origin.refresh();
  await moveRefs(source.repository, [{ ref: OWN, to: tip }]);
  await git.behave(`case "$*" in fetch*) echo "${text}" >&2; exit 128 ;; esac`);
  await expect(source.origin.refresh()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await refTips(source.repository, [OWN])).toEqual([tip]);
  expect((await source.reader.head()).revision).toBe(tip);
});

it.each(['remote: fatal: unable to open x: Too many open files', 'fatal: remote error: Too many open files'])(
  'a fetch does not blame this machine for a shortage at origin: %s',
  async (text) => {
    const git = await scriptedGit(`case "$*" in fetch*) echo "${text}" >&2; exit 128 ;; esac`);
    const { url } = await createOrigin('sha1');
    const source = await follow(url, git.path, await temporaryFolder());
    await expect(source.origin.refresh()).rejects.not.toThrow('ulimit');
  },
);
