import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { foundOrRequired, works } from './tools.ts';

/** The option of `git init` and `git clone` for a repository with its refs in tables (reftable). */
export const REFTABLE = '--ref-format=reftable';

/** Whether git on the PATH supports this option (2.45 and newer). */
export const HAS_REFTABLE = foundOrRequired('reftable', canInit());

function canInit(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  try {
    return works('git', ['init', '--quiet', '--bare', REFTABLE, folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
