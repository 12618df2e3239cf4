import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Takes what has to be done when a test, or a block of tests, is over. */
export type WhenDone = (end: () => Promise<void>) => void;

/** A new folder that goes when the test is over. */
export async function temporaryFolder(whenDone: WhenDone = onTestFinished): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  whenDone(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return folder;
}

/** Writes files by path; folders are made on the way. */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** The same files, by their paths in a repository whose desired state is in `desired-state/`. */
export function inDesiredState<T>(files: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => [`desired-state/${path}`, content]),
  );
}
