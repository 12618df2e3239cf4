import { describe, expect, it } from 'vitest';
import { Mount } from '../../src/protocol/mount.ts';

/** The message of the first problem; null if the mount is valid. */
function problemOf(mount: string): string | null {
  return Mount.safeParse(mount).error?.issues[0]?.message ?? null;
}

describe('a mount', () => {
  it.each([
    '/srv/data:/data',
    '/srv/data:/data:ro',
    '/:/host:ro,rslave',
    '/srv/with space/ü:/data',
    'data:/data',
    'c:/d:ro',
    'shop_data-1.2:/data:rw,nocopy',
    '/srv:/srv:z,ro,rshared',
    '${device.site}-data:/data',
    '${device.folder}/data:/data:ro',
    '/srv/${device.name}:/data',
  ])('may be %s', (mount) => {
    expect(problemOf(mount)).toBeNull();
  });

  it.each([
    ['/a', /mode"$/],
    ['a:/b:ro:c', /mode"$/],
    ['', /mode"$/],
    ['./rel:/y', /; the source is an absolute path or the name of a volume$/],
    ['../rel:/y', /; the source is/],
    ['~/rel:/y', /; the source is/],
    ['a/b:/y', /; the source is/],
    [':/y', /; the source is/],
    ['${HOME}/a:/y', /; the source is/],
    ['/a:b', /; the target is an absolute path in the container, other than "\/"$/],
    ['/a:', /; the target is/],
    ['/a:/', /; the target is/],
    ['/a:./b', /; the target is/],
    ['/a:/b:rx', /; the mode is of ro, rw, z, Z, nocopy, private/],
    ['/a:/b:', /; the mode is of/],
    ['/a:/b:ro,', /; the mode is of/],
    ['/a:/b:RO', /; the mode is of/],
    ['/a:/b:ro,rw', /^has flags in its mode that exclude each other$/],
    ['/a:/b:shared,slave', /^has flags in its mode that exclude each other$/],
    ['/srv/${device.site}/../b:/b', /^must not have "\.\." in a source with a variable$/],
    ['${device.site}/..:/b', /^must not have "\.\."/],
    ['/a\0:/b', /NUL/],
  ])('is not %j', (mount, message) => {
    expect(problemOf(mount)).toMatch(message);
  });

  it('is checked in linear time, even if it is as long as a file', () => {
    for (const part of ['/', 'a', '/a', '${device.a}', 'ro,'])
      for (const before of ['', '/a:/', '/a:/b:'])
        expect(problemOf(`${before}${part.repeat(100_000)}:!:`)).not.toBeNull();
  });
});
