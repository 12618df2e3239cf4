import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { FaultPoint } from '../../../../src/faults.ts';
import { type CheckoutSource, openCheckout } from '../../../../src/source/git/checkout.ts';
import { writeFiles } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, MACHINE, openSource } from '../support.ts';

export const FILES = {
  'ds/apps/web.yaml': 'a: web\n',
  'ds/apps/cron.yaml': 'a: cron\n',
  'ds/apps/old.yaml': 'a: old\n',
  'else.txt': 'e\n',
};
/** Changes one file, removes one, adds two. */
export const EDITS = {
  'apps/web.yaml': 'a: web\nb: 1\n',
  'apps/old.yaml': null,
  'apps/n/new.yaml': 'n\n',
  'x.yaml': 'x\n',
};

/** A source whose writes stop for good at a point, as if the process had died there. */
export async function dyingSource(repository: TestRepository, point: FaultPoint): Promise<CheckoutSource> {
  const source = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, {
    faults: {
      pass: (passed) => {
        if (passed === point) throw new Error('died');
      },
    },
  });
  onTestFinished(async () => {
    await Promise.all([source.reader.close(), source.publisher.close()]);
  });
  return source;
}

export async function start(point: FaultPoint) {
  const repository = await testRepository();
  const base = await repository.commit(FILES);
  return { repository, base, source: await dyingSource(repository, point) };
}

export async function dieWriting(
  source: CheckoutSource,
  edits: Record<string, string | null> = EDITS,
): Promise<void> {
  await expect(source.publisher.publish(await source.reader.head(), [draftOf(edits)])).rejects.toThrow();
}

export const status = ({ git }: TestRepository): Promise<string> =>
  git('status', '--porcelain', '--untracked-files=all');
export const write = ({ folder }: TestRepository, path: string, text: string) =>
  writeFiles(folder, { [path]: text });
export const read = ({ folder }: TestRepository, path: string) =>
  readFile(join(folder, path), 'utf8').catch(() => null);

/** Opens the folder anew, as the next start does, and lets it recover. */
export async function restart(repository: TestRepository): Promise<CheckoutSource> {
  const source = await openSource(join(repository.folder, 'ds'));
  await source.recover();
  return source;
}
