import { expect, it } from 'vitest';
import { Book } from '../../../src/reconcile/record/book.ts';
import { buildEngine, wrap } from '../../support/engine.ts';

const FILES = { 'apps/web.yaml': 'container_image: web:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' };
const CONTEXT = { actor: 'pat', requestId: 'r', at: 1 };

it('says of itself what its rows say, also where ids rise while it is read', async () => {
  const { store, source, reconciler } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  let rises = 3;
  const rising = wrap(store, {
    counters: async (since) => {
      if (rises > 0) await store.restartApp('web', CONTEXT);
      rises -= 1;
      return store.counters(since);
    },
  });
  const book = new Book({ record: source.record, store: rising, reader: source.reader, now: () => 1000 });
  const { meta, hasWritten } = await book.bringUp();
  expect(rises).toBeLessThanOrEqual(0);
  expect([meta?.idSequence, hasWritten]).toEqual([(await store.state()).idSequence, true]);
  // Nothing is left to write, so the rows were the newest ones.
  expect((await book.bringUp()).hasWritten).toBe(false);
  const fresh = new Book({ record: source.record, store, reader: source.reader, now: () => 2000 });
  expect((await fresh.bringUp()).hasWritten).toBe(false);
});
