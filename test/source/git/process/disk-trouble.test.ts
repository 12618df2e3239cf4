import { describe, expect, it } from 'vitest';
import { commands } from '../../../../src/source/git/process/commands.ts';
import {
  diskTrouble,
  explainFailure,
  explainReadFailure,
} from '../../../../src/source/git/process/disk-trouble.ts';
import { GitFailure } from '../../../../src/source/git/process/run.ts';

const RIGHTS = 'the user of the manager may not write there; check owner and permissions';
const FULL = 'the disk is full (df), or has no inodes left (df -i); make room';
const UNKNOWN = 'a file could not be written; check the space (df) and inodes (df -i) of the disk';
const QUOTA = 'the disk quota is exceeded; make room';

/** Messages of git, and what the disk's trouble is; null if the message is not about this machine's disk. */
const MESSAGES: { text: string; means: string | null }[] = [
  {
    text: "error: cannot lock ref 'refs/remotes/origin/main': Unable to create '/d/mirror.git/refs/remotes/origin/main.lock': Permission denied\nwarning: fetch normally indicates",
    means: RIGHTS,
  },
  {
    text: "fatal: Unable to create temporary file '/r/.git/objects/pack/tmp_pack_XXXXXX': Permission denied",
    means: RIGHTS,
  },
  { text: "error: unable to unlink old 'desired-state/apps/web.yaml': Permission denied", means: RIGHTS },
  {
    text: "fatal: commit: cannot update the ref 'refs/heads/main': unable to append to '.git/logs/refs/heads/main': Permission denied",
    means: RIGHTS,
  },
  { text: 'fatal: write error: No space left on device', means: FULL },
  {
    text: "fatal: Unable to create '/r/.git/index.lock': Read-only file system",
    means: 'the file system is read-only',
  },
  {
    text: "fatal: sha1 file '/r/.git/holdfast-index.lock' write error. Out of diskspace",
    means: FULL,
  },
  { text: "fatal: fsync error on '/r/.git/objects/pack/tmp_pack_1': No space left on device", means: FULL },
  { text: "fatal: failed to flush '/r/.git/holdfast-index.lock': No space left on device", means: FULL },
  { text: 'fatal: cannot truncate pack to skip duplicate: No space left on device', means: FULL },
  { text: 'error: error when closing loose object file: No space left on device', means: FULL },
  {
    text: "fatal: cannot copy '/t/description' to '/r/.git/description': No space left on device",
    means: FULL,
  },
  {
    text: "error: cannot update ref 'refs/remotes/origin/main': couldn't write '/d/mirror.git/refs/remotes/origin/main.lock'\nwarning: fetch normally indicates",
    means: UNKNOWN,
  },
  { text: 'error: Unable to write new index file', means: UNKNOWN },
  { text: 'fatal: unable to write new index file', means: UNKNOWN },
  {
    text: 'error: unable to write file ds/apps/web.yaml: No space left on device\nfatal: unable to write new index file',
    means: FULL,
  },
  { text: 'warning: unable to unlink ds/apps/web.yaml: Operation not permitted', means: RIGHTS },
  { text: 'fatal: cannot mkdir ds/apps: Disk quota exceeded', means: QUOTA },
  { text: "fatal: cannot close written packed-refs file '/r/.git/x': Disk quota exceeded", means: QUOTA },
  {
    text: 'error: insufficient permission for adding an object to repository database .git/objects',
    means: RIGHTS,
  },
  {
    text: 'error: unable to write file ds/apps/web.yaml: Input/output error',
    means: 'the disk reports errors; check the system log',
  },
  {
    text: 'remote: error: insufficient permission for adding an object to repository database ./objects',
    means: null,
  },
  { text: 'git@forge.example: Permission denied (publickey).', means: null },
  { text: "fatal: cannot exec 'ssh': Permission denied", means: null },
  { text: 'error: cannot run /usr/bin/ssh: Permission denied', means: null },
  { text: 'remote: fatal: unable to create temporary file: No space left on device', means: null },
  { text: "remote: error: cannot update ref 'refs/heads/main': couldn't write 'x.lock'", means: null },
  { text: "fatal: couldn't find remote ref refs/heads/main", means: null },
];

describe('diskTrouble', () => {
  it.each(MESSAGES.map(({ text, means }) => [means ?? 'no trouble of this disk', text, means] as const))(
    'finds "%s" in "%s"',
    (_, text, means) => {
      expect(diskTrouble(new GitFailure(commands.version(), 128, text))).toBe(means);
    },
  );

  it('also finds the trouble in an error of Node', () => {
    expect(diskTrouble(new Error("EACCES: permission denied, open '/r/.git/index.lock'"))).toBe(RIGHTS);
    expect(diskTrouble(new Error("EPERM: operation not permitted, unlink '/r/.git/index.lock'"))).toBe(
      RIGHTS,
    );
    expect(diskTrouble(new Error('ENOSPC: no space left on device, write'))).toBe(FULL);
    expect(diskTrouble(new Error('EDQUOT: disk quota exceeded, write'))).toBe(QUOTA);
    expect(diskTrouble(new Error("EROFS: read-only file system, open '/r/x'"))).toMatch('read-only');
    expect(diskTrouble(new Error('EIO: i/o error, write'))).toMatch('reports errors');
    expect(diskTrouble(new Error("ENOENT: no such file or directory, stat '/r/.git'"))).toBeNull();
  });
});

it.each(
  [
    {
      text: "fatal: bad numeric config value 'x' for 'core.compression' in file .git/config: invalid unit",
      means: 'git cannot parse its configuration; see git config --list',
    },
    {
      text: 'warning: x\nfatal: bad config line 3 in file .git/config',
      means: 'git cannot parse its configuration; see git config --list',
    },
    {
      text: 'fatal: unknown repository extension found:\n\tother',
      means: 'the repository needs a newer git',
    },
    { text: 'fatal: bad shallow line: junk', means: 'packed-refs or shallow in its .git folder is damaged' },
    {
      text: 'fatal: could not fetch 4b825dc642cb6eb9a060e54bf8d69288fbee4904 from promisor remote',
      means: 'this is a partial clone',
    },
    {
      text: "warning: unable to access '.git/info/attributes': Permission denied",
      means: 'may not read it; check owner and permissions',
    },
    {
      text: 'error: open("ds/apps/web.yaml"): Operation not permitted',
      means: 'may not read it; check owner and permissions',
    },
    {
      text: 'fatal: bad object refs/tags/v1',
      means:
        'refs/tags/v1 names an object that is missing; fetch the object, or delete the ref (git update-ref -d refs/tags/v1)',
    },
    { text: 'Error: spawn git EMFILE', means: 'too many files are open' },
    {
      text: 'fatal: not a git repository (or any of the parent directories): .git',
      means: 'check HEAD, config and permissions',
    },
    {
      text: 'fatal: unexpected line in .git/packed-refs: garbage line',
      means: 'packed-refs or shallow in its .git folder is damaged',
    },
    { text: 'fatal: Expected git repo version <= 1, found 2', means: 'the repository needs a newer git' },
    {
      text: 'error: unable to open object pack directory: .git/objects/pack: Permission denied',
      means: 'may not read it; check owner and permissions',
    },
    {
      text: 'error: failed to read object abc at offset 1 from .git/objects/pack/a.pack: Input/output error',
      means: 'the disk reports errors',
    },
  ].map(({ text, means }) => [means, text] as const),
)('explainFailure finds "%s" in "%s"', (means, text) => {
  const failure = new GitFailure(commands.version(), 128, text);
  expect(explainFailure('git could not', failure)).toMatch('git could not: ');
  expect(explainFailure('git could not', failure)).toContain(means);
});

it('an error of Node for missing rights is explained by what the manager was doing', () => {
  const error = new Error("EACCES: permission denied, open '/r/.git/index'");
  expect(explainFailure('git could not', error)).toBe(`git could not: ${RIGHTS}`);
  expect(explainReadFailure('git could not', error)).toBe(
    'git could not: the user of the manager may not read it; check owner and permissions',
  );
});

it('a failure to read for lack of room is explained, too, and one of unknown cause is only named', () => {
  const full = new GitFailure(commands.version(), 128, 'fatal: write error: No space left on device');
  expect(explainReadFailure('git could not', full)).toBe(`git could not: ${FULL}`);
  const tooMany = new Error('spawn git EMFILE');
  expect(explainReadFailure('git could not', tooMany)).toMatch('git could not: too many files are open');
  for (const explain of [explainFailure, explainReadFailure])
    expect(explain('git could not', new Error('x'))).toBe('git could not');
});
