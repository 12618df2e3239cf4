import { describe, expect, it } from 'vitest';
import { Disk, type DiskCall, type Tree } from './disk-model.ts';

const BASE: Tree = new Map([
  ['/d/a', Buffer.from('old')],
  ['/d/sub', null],
  ['/d/sub/b', Buffer.from('b')],
]);

const write = (path: string, text: string, at: number | 'end' = 0): DiskCall => ({
  kind: 'write',
  path,
  at,
  bytes: Buffer.from(text),
});
const create = (path: string): DiskCall => ({ kind: 'create', path });
const sync = (path: string): DiskCall => ({ kind: 'sync', path });
const remove = (path: string): DiskCall => ({ kind: 'remove', path });
const rename = (path: string, to: string): DiskCall => ({ kind: 'rename', path, to });
const resize = (path: string, size: number): DiskCall => ({ kind: 'resize', path, size });

function diskAfter(calls: readonly DiskCall[]): Disk {
  const disk = new Disk('/d', BASE);
  for (const call of calls) disk.apply(call);
  return disk;
}

function shown(tree: Tree): Record<string, string | null> {
  return Object.fromEntries(
    [...tree].map(([path, bytes]) => [path.slice('/d/'.length), bytes?.toString() ?? null]),
  );
}

const never = (): boolean => false;
const NEW = [create('/d/new'), write('/d/new', 'text')];
const REPLACED = [create('/d/tmp'), write('/d/tmp', 'new'), sync('/d/tmp'), rename('/d/tmp', '/d/a')];
const OLD = { a: 'old', sub: null, 'sub/b': 'b' };

describe('what survives when only that does which was synced', () => {
  it.each<[string, DiskCall[], Record<string, string | null>]>([
    ['nothing was done', [], OLD],
    ['a write that nobody synced', [write('/d/a', 'new')], OLD],
    ['a write that was synced', [write('/d/a', 'new'), sync('/d/a')], { ...OLD, a: 'new' }],
    ['a write after the sync', [sync('/d/a'), write('/d/a', 'new')], OLD],
    ['an append', [write('/d/a', '+', 'end'), sync('/d/a')], { ...OLD, a: 'old+' }],
    ['a write behind the end', [write('/d/a', 'x', 4), sync('/d/a')], { ...OLD, a: 'old\0x' }],
    ['a file cut short, and no sync', [resize('/d/a', 0)], OLD],
    ['a file cut short', [resize('/d/a', 1), sync('/d/a')], { ...OLD, a: 'o' }],
    ['a new file whose name nobody synced', [...NEW, sync('/d/new')], OLD],
    ['a new name of which nobody synced the bytes', [...NEW, sync('/d')], { ...OLD, new: '' }],
    ['a new file', [...NEW, sync('/d/new'), sync('/d')], { ...OLD, new: 'text' }],
    ['a removal that nobody synced', [remove('/d/a')], OLD],
    ['a removal', [remove('/d/a'), sync('/d')], { sub: null, 'sub/b': 'b' }],
    ['a rename that nobody synced', REPLACED, OLD],
    ['a rename', [...REPLACED, sync('/d')], { ...OLD, a: 'new' }],
    [
      'a rename into another folder, of which one is synced: the whole of it',
      [rename('/d/a', '/d/sub/a'), sync('/d/sub')],
      { sub: null, 'sub/b': 'b', 'sub/a': 'old' },
    ],
    ['a second name', [{ kind: 'link', path: '/d/a', to: '/d/c' }, sync('/d')], { ...OLD, c: 'old' }],
    [
      'a new folder that is synced, and whose own name is not',
      [{ kind: 'mkdir', path: '/d/n' }, create('/d/n/x'), sync('/d/n/x'), sync('/d/n')],
      OLD,
    ],
    [
      'a name that was taken again after a sync',
      [remove('/d/a'), sync('/d'), create('/d/a')],
      { sub: null, 'sub/b': 'b' },
    ],
  ])('%s', (_, calls, left) => {
    expect(shown(diskAfter(calls).survivors(never))).toEqual(left);
  });
});

describe('what survives by luck', () => {
  it('can be everything: what processes see', () => {
    const disk = diskAfter([...REPLACED, ...NEW, remove('/d/sub/b'), write('/d/a', '+', 'end')]);
    expect(shown(disk.survivors(() => true))).toEqual({ a: 'new+', new: 'text', sub: null });
    expect(disk.survivors(() => true)).toEqual(disk.seen());
  });

  it('can be a rename without the file that was made for it before', () => {
    expect(shown(diskAfter(REPLACED).survivors((change) => change === 1))).toEqual({ ...OLD, a: 'new' });
  });

  it('can be a later write without an earlier one', () => {
    const disk = diskAfter([write('/d/a', 'OLD'), write('/d/a', '+', 3)]);
    expect(shown(disk.survivors((change) => change === 1))).toEqual({ ...OLD, a: 'old+' });
  });

  it('never brings back what was replaced by something that is synced', () => {
    const disk = diskAfter([rename('/d/a', '/d/sub/a'), create('/d/a'), sync('/d')]);
    expect(shown(disk.survivors(() => true))).toEqual({ a: '', sub: null, 'sub/b': 'b', 'sub/a': 'old' });
  });
});

it('throws for a file that is not there', () => {
  expect(() => diskAfter([write('/d/none', 'x')])).toThrow('/d/none is not there');
  expect(() => diskAfter([write('/d/sub', 'x')])).toThrow('/d/sub is a folder');
});
