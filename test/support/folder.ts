import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Registers a function that runs when a test, or a block of tests, is over; `onTestFinished` is one for a test. */
export type WhenDone = (end: () => Promise<void>) => void;

/** Makes an empty folder, which is deleted when the test is over; resolves to its path. */
export async function temporaryFolder(whenDone: WhenDone = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  whenDone(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return folder;
}

/** Writes files by their paths below `folder`, and makes the folders that are missing. */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** The same files with paths from the top of the repository: `apps/web.yaml` becomes `desired-state/apps/web.yaml`. */
export function inDesiredState<T>(files: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => [`desired-state/${path}`, content]),
  );
}
