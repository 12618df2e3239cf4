import { describe, expect, it } from 'vitest';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { diskTrouble, explainFailure } from '../../../../src/source/git/process/disk-trouble.ts';
import { GitFailure } from '../../../../src/source/git/process/run.ts';

const RIGHTS =
  'the user of the manager has no right to do that; check owner and permissions, and how the disk is mounted';
const FULL = 'the disk is full (df), has no inodes left (df -i), or the quota is exceeded; make room';

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
    means: RIGHTS,
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
    means: null,
  },
  { text: 'error: Unable to write new index file', means: null },
  { text: 'fatal: unable to write new index file', means: null },
  {
    text: 'error: unable to write file ds/apps/web.yaml: No space left on device\nfatal: unable to write new index file',
    means: FULL,
  },
  { text: 'warning: unable to unlink ds/apps/web.yaml: Operation not permitted', means: RIGHTS },
  { text: 'fatal: cannot mkdir ds/apps: Disk quota exceeded', means: FULL },
  { text: "fatal: cannot close written packed-refs file '/r/.git/x': Disk quota exceeded", means: FULL },
  {
    text: 'error: insufficient permission for adding an object to repository database .git/objects',
    means: RIGHTS,
  },
  {
    text: 'error: unable to write file ds/apps/web.yaml: Input/output error',
    means: null,
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
    expect(diskTrouble(new Error('EDQUOT: disk quota exceeded, write'))).toBe(FULL);
    expect(diskTrouble(new Error("EROFS: read-only file system, open '/r/x'"))).toBe(RIGHTS);
    expect(diskTrouble(new Error("ENOENT: no such file or directory, stat '/r/.git'"))).toBeNull();
  });
});

describe('explainFailure', () => {
  const explained = (text: string): string =>
    explainFailure('git could not', new GitFailure(commands.version(), 128, text));

  it('has what git says if the cause is not known, without progress, hints and folders', () => {
    expect(
      explained("warning: x\nfatal: bad config line 3 in file '/srv/fleet/.git/config'\nhint: y\n"),
    ).toBe("git could not: fatal: bad config line 3 in file 'config'");
    expect(explained('remote: Counting objects: 100% (3/3), done.\nfatal: bad object refs/tags/v1')).toBe(
      'git could not: fatal: bad object refs/tags/v1',
    );
    expect(explained('ERROR: no.\nfatal: Could not read from remote repository.')).toBe(
      'git could not: ERROR: no.',
    );
    expect(explained('')).toBe('git could not');
  });

  it('has the cause and what to do if that is known, and of other errors nothing else', () => {
    expect(explained('fatal: write error: No space left on device')).toBe(`git could not: ${FULL}`);
    expect(explained('Error: spawn git EMFILE')).toMatch('git could not: too many files are open');
    const error = new Error("EACCES: permission denied, open '/r/.git/index'");
    expect(explainFailure('git could not', error)).toBe(`git could not: ${RIGHTS}`);
    expect(explainFailure('git could not', new Error('x'))).toBe('git could not');
  });
});
