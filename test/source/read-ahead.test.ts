import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openCheckout } from '../../src/source/git/checkout.ts';
import { withReadAhead } from '../../src/source/read-ahead.ts';
import type { Reader, Source } from '../../src/source/source.ts';
import { testRepository } from '../support/git.ts';
import { draftOf, MACHINE } from './git/support.ts';

const METHODS = ['folderTree', 'changes', 'blob', 'commonAncestor', 'isAncestor'] as const;

/**
 * A source that reads ahead, the same source `plain`, and the requests that have reached the repository. `change` wraps
 * the reader of the repository.
 */
async function openAhead(change: (reader: Reader) => Reader = (reader) => reader) {
  const repository = await testRepository();
  const base = await repository.commit({ 'ds/apps/a.yaml': 'one\n', 'ds/apps/b.yaml': 'two\n' });
  const plain = await openCheckout(join(repository.folder, 'ds'), null, MACHINE);
  onTestFinished(() => plain.close());
  const requests: string[] = [];
  const reader = change(plain.reader);
  const recorded = (name: (typeof METHODS)[number]) => ({
    [name]: (...args: string[]) => {
      requests.push([name, ...args].join(' '));
      return (reader[name] as (...all: string[]) => Promise<unknown>)(...args);
    },
  });
  const recordingReader: Reader = Object.assign({ ...reader }, ...METHODS.map(recorded));
  return { plain, base, requests, ahead: withReadAhead({ ...plain, reader: recordingReader }) };
}

async function publish(source: Source, edits: Record<string, string | null>): Promise<string> {
  const [commit] = await source.publisher.publish(await source.reader.head(), [draftOf(edits)]);
  return commit ?? '';
}

/** Makes the requests of a pass that do not read files; returns the answers. */
async function passOf({ reader }: Source, base: string, commit: string) {
  const common = await reader.commonAncestor(base, commit);
  const isAncestor = await reader.isAncestor(base, commit);
  const folder = await reader.folderTree(commit);
  return { common, isAncestor, folder };
}

/** The texts of all files that differ between two trees; empty for a deleted one. */
async function changedTexts({ reader }: Source, from: string, to: string): Promise<string[]> {
  const changes = (await reader.changes(from, to)) ?? [];
  const blobs = changes.map(async ({ entry }) => {
    const found = entry === null ? null : await reader.blob(entry.blob, 1000);
    return found !== null && 'bytes' in found ? Buffer.from(found.bytes).toString() : '';
  });
  return Promise.all(blobs);
}

describe('a source that reads ahead', () => {
  it('answers a pass on its own commit as the repository would, without further requests to it', async () => {
    const { plain, base, requests, ahead } = await openAhead();
    const before = (await plain.reader.folderTree(base)) ?? '';
    const commit = await publish(ahead, { 'apps/a.yaml': 'more\n', 'apps/b.yaml': null });
    await vi.waitFor(() => expect(requests.some((request) => request.startsWith('blob'))).toBe(true), 60_000);
    const count = requests.length;
    const pass = await passOf(ahead, base, commit);
    const texts = await changedTexts(ahead, before, pass.folder ?? '');
    expect(requests.length).toBe(count);
    expect(pass).toEqual(await passOf(plain, base, commit));
    expect(texts.sort()).toEqual(['', 'more\n']);
  });

  it('uses each answer only once', async () => {
    const { base, requests, ahead } = await openAhead();
    const commit = await publish(ahead, { 'apps/a.yaml': 'more\n' });
    await vi.waitFor(() => expect(requests.some((request) => request.startsWith('blob'))).toBe(true), 60_000);
    const first = await passOf(ahead, base, commit);
    const count = requests.length;
    expect(await passOf(ahead, base, commit)).toEqual(first);
    expect(requests.length).toBe(count + 3);
  });

  it.each([
    ['failed', () => Promise.reject(new Error('git ended'))],
    ['found nothing', () => Promise.resolve({ missing: true } as const)],
  ])('repeats a request if reading ahead %s', async (_, answer) => {
    let blobReads = 0;
    const { plain, base, ahead } = await openAhead((reader) => ({
      ...reader,
      blob: (id, maxBytes) => {
        blobReads += 1;
        return blobReads === 1 ? answer() : reader.blob(id, maxBytes);
      },
    }));
    const before = (await plain.reader.folderTree(base)) ?? '';
    const commit = await publish(ahead, { 'apps/a.yaml': 'more\n' });
    await vi.waitFor(() => expect(blobReads).toBe(1), 60_000);
    const after = (await ahead.reader.folderTree(commit)) ?? '';
    expect(await changedTexts(ahead, before, after)).toEqual(['more\n']);
    expect(blobReads).toBe(2);
  });

  it('makes no more requests once it is closed', async () => {
    const { requests, ahead } = await openAhead();
    let isClosed = false;
    const commit = publish(ahead, { 'apps/a.yaml': 'more\n' });
    await vi.waitFor(() => expect(requests.length).toBeGreaterThan(0), { interval: 1, timeout: 60_000 });
    const closing = ahead.close().then(() => {
      isClosed = true;
    });
    await Promise.allSettled([commit, closing]);
    const count = requests.length;
    await sleep(100);
    expect([isClosed, requests.length]).toEqual([true, count]);
  });

  it.each(['commonAncestor', 'blob'] as const)(
    'is closed only after its requests, also those ahead of an earlier write (%s)',
    async (method) => {
      let endFirst = (): void => undefined;
      const first = new Promise<void>((resolve) => {
        endFirst = resolve;
      });
      let count = 0;
      const { ahead } = await openAhead((reader) => ({
        ...reader,
        [method]: async (...args: [string, never]) => {
          count += 1;
          if (count === 1) await first;
          return reader[method](...args);
        },
      }));
      await publish(ahead, { 'apps/a.yaml': 'more\n' });
      await vi.waitFor(() => expect(count).toBe(1), 60_000);
      await publish(ahead, { 'apps/a.yaml': 'most\n' });
      let isClosed = false;
      const closing = ahead.close().then(() => {
        isClosed = true;
      });
      await sleep(100);
      expect(isClosed).toBe(false);
      endFirst();
      await closing;
    },
  );

  it('keeps no more answers than those about the last write', async () => {
    const { requests, ahead } = await openAhead();
    const first = await publish(ahead, { 'apps/a.yaml': 'more\n' });
    await publish(ahead, { 'apps/a.yaml': 'most\n' });
    const reads = () => requests.filter((request) => request === `folderTree ${first}`).length;
    const count = reads();
    await ahead.reader.folderTree(first);
    expect(reads()).toBe(count + 1);
  });

  it('reads at most 64 files ahead, and passes on how large a file may be', async () => {
    const { plain, requests, ahead } = await openAhead();
    const names = Array.from({ length: 70 }, (_, index) => `apps/${index}.yaml`);
    await publish(ahead, Object.fromEntries(names.map((name) => [name, name])));
    const blobs = () => requests.filter((request) => request.startsWith('blob '));
    await vi.waitFor(() => expect(blobs()).toHaveLength(64), 60_000);
    const [, id = ''] = blobs()[0]?.split(' ') ?? [];
    expect(await ahead.reader.blob(id, 1)).toEqual(await plain.reader.blob(id, 1));
    await ahead.close();
    expect(blobs()).toHaveLength(65);
  });

  it('reads nothing ahead of a write that makes no commit', async () => {
    const { requests, ahead, plain } = await openAhead();
    const head = await plain.reader.head();
    await expect(
      ahead.publisher.publish({ ...head, branch: null }, [draftOf({ 'apps/a.yaml': 'more\n' })]),
    ).rejects.toMatchObject({ kind: 'conflict' });
    expect(requests).toEqual([]);
  });
});
