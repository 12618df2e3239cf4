import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openRemote } from '../../../../src/source/git/origin/remote.ts';
import { moveRefs } from '../../../../src/source/git/record/refs.ts';
import { refTips } from '../../../../src/source/git/repository/refs.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt } from '../../../support/git.ts';
import { remoteOptions } from '../../../support/origin.ts';

const OWN = 'refs/holdfast/ids';

/** A program `git` that does what the script says first: as a server of another age, or one that says odd things. */
async function gitThat(script: string): Promise<{ path: string; say(script: string): Promise<void> }> {
  const folder = await temporaryFolder();
  const path = process.env['PATH'] as string;
  const say = (text: string): Promise<void> =>
    writeFile(join(folder, 'git'), `#!/bin/sh\n${text}\nPATH='${path}' exec git "$@"\n`, { mode: 0o755 });
  await say(script);
  return { path: `${folder}:${path}`, say };
}

/** An origin with one commit, in the place of the one that is there. */
async function originOf(format: string, place?: string): Promise<{ url: string; tip: string }> {
  const folder = await temporaryFolder();
  const person = repositoryAt(join(folder, 'person'));
  await mkdir(person.folder);
  await person.git('init', '--quiet', '--initial-branch=main', `--object-format=${format}`);
  const tip = await person.commit({ 'desired-state/apps/web.yaml': 'container_image: a\n' });
  const url = place ?? join(folder, 'origin.git');
  await rm(url, { recursive: true, force: true });
  await person.git('clone', '--quiet', '--bare', person.folder, url);
  return { url, tip };
}

async function follow(url: string, path: string, dataFolder: string) {
  const source = await openRemote(remoteOptions(url, dataFolder, path));
  onTestFinished(source.close);
  return source;
}

it.each([0, 1, 2])('an origin of the other format is followed by protocol %s, and back', async (version) => {
  const { path } = await gitThat(`set -- -c protocol.version=${version} "$@"`);
  const first = await originOf('sha256');
  const source = await follow(first.url, path, await temporaryFolder());
  await source.origin.refresh();
  expect((await source.reader.head()).revision).toBe(first.tip);
  for (const format of ['sha1', 'sha256']) {
    const { tip } = await originOf(format, first.url);
    await source.origin.refresh();
    expect((await source.reader.head()).revision).toBe(tip);
  }
});

it.each([
  'fatal: remote error: mismatched algorithms: client sha1; server sha256',
  "remote: fatal: the server does not support algorithm 'x'",
  'fatal: mismatched algorithms: client sha1; server sha1',
])('a mirror keeps the record that only it has where somebody says: %s', async (text) => {
  const git = await gitThat('');
  const { url, tip } = await originOf('sha1');
  const source = await follow(url, git.path, await temporaryFolder());
  await source.origin.refresh();
  await moveRefs(source.repository, [{ ref: OWN, to: tip }]);
  await git.say(`case "$*" in fetch*) echo "${text}" >&2; exit 128 ;; esac`);
  await expect(source.origin.refresh()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(await refTips(source.repository, [OWN])).toEqual([tip]);
  expect((await source.reader.head()).revision).toBe(tip);
});

it.each(['remote: fatal: unable to open x: Too many open files', 'fatal: remote error: Too many open files'])(
  'blames nothing of this machine for what origin lacks: %s',
  async (text) => {
    const git = await gitThat(`case "$*" in fetch*) echo "${text}" >&2; exit 128 ;; esac`);
    const { url } = await originOf('sha1');
    const source = await follow(url, git.path, await temporaryFolder());
    await expect(source.origin.refresh()).rejects.not.toThrow('ulimit');
  },
);
