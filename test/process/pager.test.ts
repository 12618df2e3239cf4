import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { page } from '../../src/process/pager.ts';
import { temporaryFolder } from '../support/folder.ts';

const SIZE = { rows: 4, columns: 10 };
const SHORT = 'one\ntwo\n';
const LONG = 'one\ntwo\nthree\nfour\n';
const WIDE = 'one line that is wider than the screen\n';
const COLORED = `\u001b[33m${'1234567890'}\u001b[39m\n\u001b[31m12\u001b[39m\n`;

describe('page', () => {
  it.each<[string, string, typeof SIZE | null, Record<string, string>, 'pager' | 'output']>([
    ['gives a pager what has more lines than the screen', LONG, SIZE, {}, 'pager'],
    ['gives a pager what is more lines on the screen', WIDE, SIZE, {}, 'pager'],
    ['writes what fits', SHORT, SIZE, {}, 'output'],
    ['writes what fits, colours apart', COLORED, SIZE, {}, 'output'],
    ['writes where there is no terminal', LONG, null, {}, 'output'],
    ['writes where PAGER is cat', LONG, SIZE, { PAGER: 'cat' }, 'output'],
    ['writes where PAGER is empty', LONG, SIZE, { PAGER: '' }, 'output'],
    ['writes to a dumb terminal', LONG, SIZE, { TERM: 'dumb' }, 'output'],
    ['writes where there is no such pager', LONG, SIZE, { PAGER: 'no-such-pager 2>/dev/null' }, 'output'],
  ])('%s', async (_, text, size, given, target) => {
    const file = join(await temporaryFolder(), 'paged');
    let written = '';
    const env = { PATH: process.env['PATH'], PAGER: `cat > ${file}`, ...given };
    const write = (part: string): void => {
      written += part;
    };
    await page(text, { env, size, write });
    const paged = await readFile(file, 'utf8').catch(() => '');
    expect([paged, written]).toEqual(target === 'pager' ? [text, ''] : ['', text]);
  });

  it('ends with a pager that is left early', async () => {
    const env = { PATH: process.env['PATH'], PAGER: 'exec true' };
    const write = (): never => expect.unreachable();
    await page('line\n'.repeat(100_000), { env, size: SIZE, write });
  });
});
