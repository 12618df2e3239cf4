import { describe, expect, it } from 'vitest';
import { ImageReference } from '../../src/protocol/image.ts';

const SHA256 = `sha256:${'0a'.repeat(32)}`;

/** The message of the first problem; null if the reference is valid. */
function problemOf(reference: string): string | null {
  return ImageReference.safeParse(reference).error?.issues[0]?.message ?? null;
}

describe('an image reference', () => {
  it.each([
    ['a name', 'web'],
    ['a tag', 'nginx:1.27-alpine'],
    ['a tag in upper case', 'nginx:RC_1'],
    ['a path', 'library/nginx'],
    ['a host', 'ghcr.io/example/storefront:2.15.0'],
    ['a host with a port', 'registry.example:5000/a/b:1'],
    ['a host in upper case', 'Registry.example/web'],
    ['localhost', 'localhost/web'],
    ['an IPv4 address', '10.0.0.1:5000/web'],
    ['an IPv6 address', '[fd00::1]:5000/web'],
    ['separators within a component', 'a.b_c__d---e/f'],
    ['a digest', `web@${SHA256}`],
    ['a tag and a digest', `web:1@${SHA256}`],
    ['another algorithm', `web@sha512:${'0'.repeat(128)}`],
    ['a tag of 128 characters', `web:${'a'.repeat(128)}`],
    ['a name of 255 characters', `${'a'.repeat(255)}:1`],
  ])('may have %s', (_name, reference) => {
    expect(problemOf(reference)).toBeNull();
  });

  it.each([
    ['an empty text', '', /web:2\.0"$/],
    ['a name in upper case', 'NGINX:latest', /; write the name in lower case$/],
    ['a path in upper case', 'ghcr.io/Example/web', /; write the name in lower case$/],
    ['an address of the web', 'https://registry.example/web', /; remove what is before the name of the host/],
    ['a scheme', 'docker://web:1', /; remove what is before the name of the host/],
    ['spaces', 'web 1', /, without spaces$/],
    ['a line break at its end', 'web:1\n', /, without spaces$/],
    ['a variable', 'web:${TAG}', /; variables are not replaced here$/],
    ['an empty tag', 'web:', /web:2\.0"$/],
    ['two tags', 'web:1:2', /web:2\.0"$/],
    ['a tag that begins with a dot', 'web:.1', /web:2\.0"$/],
    ['a tag of 129 characters', `web:${'a'.repeat(129)}`, /web:2\.0"$/],
    ['an empty part', 'a//b', /web:2\.0"$/],
    ['a slash before it', '/web', /web:2\.0"$/],
    ['a slash at its end', 'web/', /web:2\.0"$/],
    ['a separator at the end of a part', 'web-/a', /web:2\.0"$/],
    ['a host with an underscore', 'my_registry:5000/web', /web:2\.0"$/],
    ['letters that are not ASCII', 'ünï', /web:2\.0"$/],
    ['a short digest', 'web@sha256:00', /web:2\.0"$/],
    ['a digest without algorithm', 'web@1.0', /; after "@" comes a digest/],
    ['an algorithm that engines do not know', `web@md5:${'0'.repeat(32)}`, /; after "@" comes a digest/],
    ['the id of an image', 'a0'.repeat(32), /web:2\.0"$/],
    ['a name of 256 characters', `${'a'.repeat(256)}:1`, /at most 255 characters/],
  ])('is not %s', (_name, reference, message) => {
    expect(problemOf(reference)).toMatch(message);
  });

  it('is checked in linear time, even if it is as long as a file', () => {
    for (const part of ['a', 'a.', 'a-', 'a_', 'a/', '-', '0a:'])
      expect(problemOf(`${part.repeat(100_000)}!`)).not.toBeNull();
  });
});
