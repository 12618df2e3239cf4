import { describe, expect, it } from 'vitest';
import { noSuchBranch } from '../../../src/source/git/repository/missing-branch.ts';

const MAIN = 'refs/heads/main';

describe('a branch that is not there', () => {
  it('is named, with those that are', () => {
    expect(noSuchBranch('origin', MAIN, ['refs/heads/a', 'refs/heads/b']).message).toBe(
      'origin has no branch "main"; look at GIT_BRANCH, or make the branch (there are: a, b)',
    );
  });

  it('is not named among those that are, where it came back meanwhile', () => {
    expect(noSuchBranch('origin', MAIN, [MAIN], true).message).toBe(
      'origin has no branch "main" any more; look at GIT_BRANCH, or make the branch',
    );
  });
});
