import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestOrigin } from '../support/origin.ts';

/** Makes origin accept pushes to branches and refuse the record of ids. Resolves to a function that ends this. */
export async function refuseRecord({ url }: TestOrigin): Promise<() => Promise<void>> {
  const hook = join(url, 'hooks/update');
  const script = '#!/bin/sh\ncase "$1" in refs/heads/*) exit 0 ;; esac\necho branches only >&2\nexit 1\n';
  await writeFile(hook, script, { mode: 0o755 });
  return () => rm(hook);
}
