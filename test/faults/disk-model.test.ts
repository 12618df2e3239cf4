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

/** A disk with `BASE` on it, on which these calls were made. */
function diskAfter(calls: readonly DiskCall[]): Disk {
  const disk = new Disk('/d', BASE);
  for (const call of calls) disk.apply(call);
  return disk;
}

/** A tree by paths below the root, with texts instead of bytes. */
function textsOf(tree: Tree): Record<string, string | null> {
  return Object.fromEntries(
    [...tree].map(([path, bytes]) => [path.slice('/d/'.length), bytes?.toString() ?? null]),
  );
}

const never = (): boolean => false;
const NEW = [create('/d/new'), write('/d/new', 'text')];
const REPLACED = [create('/d/tmp'), write('/d/tmp', 'new'), sync('/d/tmp'), rename('/d/tmp', '/d/a')];
const OLD = { a: 'old', sub: null, 'sub/b': 'b' };

describe('a loss of power after which the disk has only what was synced', () => {
  it.each<[string, DiskCall[], Record<string, string | null>]>([
    ['changes nothing if nothing was written', [], OLD],
    ['loses a write that was not synced', [write('/d/a', 'new')], OLD],
    ['keeps a write that was synced', [write('/d/a', 'new'), sync('/d/a')], { ...OLD, a: 'new' }],
    ['loses a write after the sync', [sync('/d/a'), write('/d/a', 'new')], OLD],
    ['keeps an append that was synced', [write('/d/a', '+', 'end'), sync('/d/a')], { ...OLD, a: 'old+' }],
    [
      'keeps a write beyond the end, with zeros in between',
      [write('/d/a', 'x', 4), sync('/d/a')],
      { ...OLD, a: 'old\0x' },
    ],
    ['loses a truncation that was not synced', [resize('/d/a', 0)], OLD],
    ['keeps a truncation that was synced', [resize('/d/a', 1), sync('/d/a')], { ...OLD, a: 'o' }],
    ['loses a new file whose folder was not synced', [...NEW, sync('/d/new')], OLD],
    [
      'keeps only the name of a new file that was not synced itself',
      [...NEW, sync('/d')],
      { ...OLD, new: '' },
    ],
    [
      'keeps a new file if it and its folder were synced',
      [...NEW, sync('/d/new'), sync('/d')],
      { ...OLD, new: 'text' },
    ],
    ['loses a removal that was not synced', [remove('/d/a')], OLD],
    ['keeps a removal that was synced', [remove('/d/a'), sync('/d')], { sub: null, 'sub/b': 'b' }],
    ['loses a rename that was not synced', REPLACED, OLD],
    ['keeps a rename that was synced', [...REPLACED, sync('/d')], { ...OLD, a: 'new' }],
    [
      'keeps a whole rename into another folder if one of the two folders was synced',
      [rename('/d/a', '/d/sub/a'), sync('/d/sub')],
      { sub: null, 'sub/b': 'b', 'sub/a': 'old' },
    ],
    [
      'keeps a second name of a file that was synced',
      [{ kind: 'link', path: '/d/a', to: '/d/c' }, sync('/d')],
      { ...OLD, c: 'old' },
    ],
    [
      'loses a new folder that was synced if the folder around it was not',
      [{ kind: 'mkdir', path: '/d/n' }, create('/d/n/x'), sync('/d/n/x'), sync('/d/n')],
      OLD,
    ],
    [
      'loses a new file under a name whose removal was synced',
      [remove('/d/a'), sync('/d'), create('/d/a')],
      { sub: null, 'sub/b': 'b' },
    ],
  ])('%s', (_, calls, left) => {
    expect(textsOf(diskAfter(calls).survivors(never))).toEqual(left);
  });
});

describe('a loss of power after which the disk also has changes that were not synced', () => {
  it('can leave everything that processes saw', () => {
    const disk = diskAfter([...REPLACED, ...NEW, remove('/d/sub/b'), write('/d/a', '+', 'end')]);
    expect(textsOf(disk.survivors(() => true))).toEqual({ a: 'new+', new: 'text', sub: null });
    expect(disk.survivors(() => true)).toEqual(disk.seen());
  });

  it('can leave a rename without the creation of the file before it', () => {
    expect(textsOf(diskAfter(REPLACED).survivors((change) => change === 1))).toEqual({ ...OLD, a: 'new' });
  });

  it('can leave a later write without an earlier one', () => {
    const disk = diskAfter([write('/d/a', 'OLD'), write('/d/a', '+', 3)]);
    expect(textsOf(disk.survivors((change) => change === 1))).toEqual({ ...OLD, a: 'old+' });
  });

  it('never brings back an entry that was replaced by a synced one', () => {
    const disk = diskAfter([rename('/d/a', '/d/sub/a'), create('/d/a'), sync('/d')]);
    expect(textsOf(disk.survivors(() => true))).toEqual({ a: '', sub: null, 'sub/b': 'b', 'sub/a': 'old' });
  });
});

it('Disk refuses a write to a path that does not exist or is a folder', () => {
  expect(() => diskAfter([write('/d/none', 'x')])).toThrow('/d/none does not exist');
  expect(() => diskAfter([write('/d/sub', 'x')])).toThrow('/d/sub is a folder');
});

it('asks about a change of bytes with the path of the file', () => {
  const disk = diskAfter([write('/d/a', 'new'), write('/d/sub/b', 'B')]);
  expect(textsOf(disk.survivors((_, path) => path === '/d/a'))).toEqual({ ...OLD, a: 'new' });
});
