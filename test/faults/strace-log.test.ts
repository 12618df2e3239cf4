import { describe, expect, it } from 'vitest';
import { readLog } from './strace-log.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('readLog', () => {
  it.each<[string, string[], unknown[]]>([
    [
      'reads a file that is created, written and synced',
      [
        '7 openat(AT_FDCWD</r>, "a", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3</r/a>',
        '7 write(3</r/a>, "x\\n\\0\\12\\377\\"", 6) = 6',
        '7 write(3</r/a>, "yz", 2) = 1',
        '7 fsync(3</r/a>) = 0',
      ],
      [
        { kind: 'open', path: '/r/a', isCut: false },
        { kind: 'write', path: '/r/a', at: 0, bytes: bytes('x\n\0\n\xff"') },
        { kind: 'write', path: '/r/a', at: 6, bytes: bytes('y') },
        { kind: 'sync', path: '/r/a' },
      ],
    ],
    [
      'follows the offset of a file through reads, seeks and appends',
      [
        '7 openat(AT_FDCWD</r>, "a", O_RDWR) = 3</r/a>',
        '7 read(3</r/a>, "abc", 10) = 3',
        '7 write(3</r/a>, "d", 1) = 1',
        '7 lseek(3</r/a>, 2, SEEK_SET) = 2',
        '7 write(3</r/a>, "e", 1) = 1',
        '8 openat(AT_FDCWD</r>, "l", O_WRONLY|O_CREAT|O_APPEND, 0666) = 4</r/l>',
        '8 write(4</r/l>, "f", 1) = 1',
        '8 pwrite64(5</r/s>, "g", 1, 4096) = 1',
        '8 ftruncate(5</r/s>, 0) = 0',
      ],
      [
        { kind: 'write', path: '/r/a', at: 3, bytes: bytes('d') },
        { kind: 'write', path: '/r/a', at: 2, bytes: bytes('e') },
        { kind: 'open', path: '/r/l', isCut: false },
        { kind: 'write', path: '/r/l', at: 'end', bytes: bytes('f') },
        { kind: 'write', path: '/r/s', at: 4096, bytes: bytes('g') },
        { kind: 'resize', path: '/r/s', size: 0 },
      ],
    ],
    [
      'puts interrupted calls where they end',
      [
        '7 fsync(3</r/a> <unfinished ...>',
        '8 rename("/r/b", "/r/c") = 0',
        '7 <... fsync resumed>)             = 0',
      ],
      [
        { kind: 'rename', path: '/r/b', to: '/r/c' },
        { kind: 'sync', path: '/r/a' },
      ],
    ],
    [
      'gives interrupted calls the name that their file has when they end, and none if it was removed',
      [
        '7 fsync(3</r/a> <unfinished ...>',
        '9 fsync(4</r/d> <unfinished ...>',
        '8 rename("/r/a", "/r/b") = 0',
        '8 unlink("/r/d") = 0',
        '7 <... fsync resumed>)             = 0',
        '9 <... fsync resumed>)             = 0',
      ],
      [
        { kind: 'rename', path: '/r/a', to: '/r/b' },
        { kind: 'remove', path: '/r/d' },
        { kind: 'sync', path: '/r/b' },
      ],
    ],
    [
      'resolves names in the folder of their process',
      [
        '7 openat(AT_FDCWD</r/d>, "x", O_RDONLY) = 3</r/d/x>',
        '7 mkdir("n", 0777) = 0',
        '7 unlink("../b") = 0',
      ],
      [
        { kind: 'mkdir', path: '/r/d/n' },
        { kind: 'remove', path: '/r/b' },
      ],
    ],
    [
      'reads a reply',
      ['7 writev(30<socket:[1]>, [{iov_base="HTTP/1.1 202 Accepted\\r\\n", iov_len=23}], 1) = 23'],
      [{ kind: 'answer', text: 'HTTP/1.1 202 Accepted\r\n' }],
    ],
    [
      'leaves out calls that failed, and those on other folders, removed files and the shared memory of SQLite',
      [
        '7 rename("/r/b", "/r/c") = -1 ENOENT (No such file or directory)',
        '7 write(3</else/a>, "x", 1) = 1',
        '7 write(3</r/a>(deleted), "x", 1) = 1',
        '7 ftruncate(3</r/s-shm>, 32768) = 0',
        '7 +++ exited with 0 +++',
      ],
      [],
    ],
  ])('%s', (_, lines, calls) => {
    expect(readLog(lines.join('\n'), '/r')).toEqual(calls);
  });

  it('throws for a change that it does not know', () => {
    expect(() => readLog('7 fallocate(3</r/a>, 0, 0, 9) = 0', '/r')).toThrow('fallocate of /r/a');
    expect(() => readLog('7 truncate("/r/a", 9) = 0', '/r')).toThrow('truncate of /r/a');
  });
});
