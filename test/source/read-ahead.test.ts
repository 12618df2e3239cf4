import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openCheckout } from '../../src/source/git/checkout.ts';
import { withReadAhead } from '../../src/source/read-ahead.ts';
import type { Reader, Source } from '../../src/source/source.ts';
import { testRepository } from '../support/git.ts';
import { draftOf, MACHINE } from './git/support.ts';

const ASKED = ['folderTree', 'changes', 'blob', 'commonAncestor', 'isAncestor'] as const;

/** A source that reads ahead, and which questions its repository was asked. */
async function start(change: (reader: Reader) => Reader = (reader) => reader) {
  const repository = await testRepository();
  const base = await repository.commit({ 'ds/apps/a.yaml': 'one\n', 'ds/apps/b.yaml': 'two\n' });
  const plain = await openCheckout(join(repository.folder, 'ds'), null, MACHINE);
  onTestFinished(() => plain.close());
  const asked: string[] = [];
  const reader = change(plain.reader);
  const noting = (name: (typeof ASKED)[number]) => ({
    [name]: (...args: string[]) => {
      asked.push([name, ...args].join(' '));
      return (reader[name] as (...all: string[]) => Promise<unknown>)(...args);
    },
  });
  const noted: Reader = Object.assign({ ...reader }, ...ASKED.map(noting));
  return { plain, base, asked, ahead: withReadAhead({ ...plain, reader: noted }) };
}

async function publish(source: Source, edits: Record<string, string | null>): Promise<string> {
  const [commit] = await source.publisher.publish(await source.reader.head(), [draftOf(edits)]);
  return commit ?? '';
}

/** What a pass asks, and what it is told. */
async function passOf({ reader }: Source, base: string, commit: string) {
  const common = await reader.commonAncestor(base, commit);
  const isAncestor = await reader.isAncestor(base, commit);
  const folder = await reader.folderTree(commit);
  return { common, isAncestor, folder };
}

async function bytesOf({ reader }: Source, from: string, to: string): Promise<string[]> {
  const changes = (await reader.changes(from, to)) ?? [];
  const blobs = changes.map(async ({ entry }) => {
    const found = entry === null ? null : await reader.blob(entry.blob, 1000);
    return found !== null && 'bytes' in found ? Buffer.from(found.bytes).toString() : '';
  });
  return Promise.all(blobs);
}

describe('a source that reads ahead', () => {
  it('knows what a pass on its own commit asks, as the repository would answer it', async () => {
    const { plain, base, asked, ahead } = await start();
    const before = (await plain.reader.folderTree(base)) ?? '';
    const commit = await publish(ahead, { 'apps/a.yaml': 'more\n', 'apps/b.yaml': null });
    await vi.waitFor(() => expect(asked.some((question) => question.startsWith('blob'))).toBe(true), 60_000);
    const read = asked.length;
    const pass = await passOf(ahead, base, commit);
    const texts = await bytesOf(ahead, before, pass.folder ?? '');
    expect(asked.length).toBe(read);
    expect(pass).toEqual(await passOf(plain, base, commit));
    expect(texts.sort()).toEqual(['', 'more\n']);
  });

  it('gives each answer once', async () => {
    const { base, asked, ahead } = await start();
    const commit = await publish(ahead, { 'apps/a.yaml': 'more\n' });
    await vi.waitFor(() => expect(asked.some((question) => question.startsWith('blob'))).toBe(true), 60_000);
    const first = await passOf(ahead, base, commit);
    const read = asked.length;
    expect(await passOf(ahead, base, commit)).toEqual(first);
    expect(asked.length).toBe(read + 3);
  });

  it.each([
    { name: 'failed', answer: () => Promise.reject(new Error('git ended')) },
    { name: 'found nothing', answer: () => Promise.resolve({ missing: true } as const) },
  ])('asks again where the look ahead $name', async ({ answer }) => {
    let looks = 0;
    const { plain, base, ahead } = await start((reader) => ({
      ...reader,
      blob: (id, maxBytes) => {
        looks += 1;
        return looks === 1 ? answer() : reader.blob(id, maxBytes);
      },
    }));
    const before = (await plain.reader.folderTree(base)) ?? '';
    const commit = await publish(ahead, { 'apps/a.yaml': 'more\n' });
    await vi.waitFor(() => expect(looks).toBe(1), 60_000);
    const after = (await ahead.reader.folderTree(commit)) ?? '';
    expect(await bytesOf(ahead, before, after)).toEqual(['more\n']);
    expect(looks).toBe(2);
  });

  it('asks nothing more once it is closed', async () => {
    const { asked, ahead } = await start();
    let isClosed = false;
    const commit = publish(ahead, { 'apps/a.yaml': 'more\n' });
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0), { interval: 1, timeout: 60_000 });
    const closing = ahead.close().then(() => {
      isClosed = true;
    });
    await Promise.allSettled([commit, closing]);
    const read = asked.length;
    await sleep(100);
    expect([isClosed, asked.length]).toEqual([true, read]);
  });

  it('reads nothing ahead of a write that makes no commit', async () => {
    const { asked, ahead, plain } = await start();
    const head = await plain.reader.head();
    await expect(
      ahead.publisher.publish({ ...head, branch: null }, [draftOf({ 'apps/a.yaml': 'more\n' })]),
    ).rejects.toMatchObject({ kind: 'conflict' });
    expect(asked).toEqual([]);
  });
});
