import { join } from 'node:path';
import { expect } from 'vitest';
import type { FaultPoint } from '../../../../src/faults.ts';
import type { CheckoutSource } from '../../../../src/source/git/checkout.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, faultsAt, openSource } from '../support.ts';

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

/** A source whose writes fail at a point and clean up nothing, as if the process had been killed there. */
export function interruptedSource(repository: TestRepository, point: FaultPoint): Promise<CheckoutSource> {
  const faults = faultsAt(point, () => {
    throw new Error('interrupted');
  });
  return openSource(join(repository.folder, 'ds'), null, { faults });
}

/** A repository with FILES, and a source whose writes are interrupted at a point. */
export async function start(point: FaultPoint) {
  const repository = await testRepository();
  const base = await repository.commit(FILES);
  return { repository, base, source: await interruptedSource(repository, point) };
}

/** Begins a write that is interrupted. */
export async function interruptWrite(
  source: CheckoutSource,
  edits: Record<string, string | null> = EDITS,
): Promise<void> {
  await expect(source.publisher.publish(await source.reader.head(), [draftOf(edits)])).rejects.toThrow();
}
