import { describe, expect, it } from 'vitest';
import {
  exactReference,
  isImageId,
  parseReference,
  pullParts,
} from '../../../src/worker/engine/references.ts';

const HEX = 'a'.repeat(64);
const DIGEST = `sha256:${HEX}`;

describe('a reference to an image', () => {
  it.each([
    ['nginx', 'docker.io', 'library/nginx', null, null],
    ['nginx:1.27', 'docker.io', 'library/nginx', '1.27', null],
    ['acme/web', 'docker.io', 'acme/web', null, null],
    ['docker.io/nginx', 'docker.io', 'library/nginx', null, null],
    ['index.docker.io/acme/web:1', 'docker.io', 'acme/web', '1', null],
    ['localhost/web', 'localhost', 'web', null, null],
    ['ghcr.io/acme/web:1.2', 'ghcr.io', 'acme/web', '1.2', null],
    ['127.0.0.1:5000/web', '127.0.0.1:5000', 'web', null, null],
    ['registry:5000/a/b/c:v1', 'registry:5000', 'a/b/c', 'v1', null],
    [`ghcr.io/acme/web@${DIGEST}`, 'ghcr.io', 'acme/web', null, DIGEST],
    [`ghcr.io/acme/web:1@${DIGEST}`, 'ghcr.io', 'acme/web', '1', DIGEST],
  ])('%s leads to %s, path %s, tag %s, digest %s', (reference, registry, path, tag, digest) => {
    expect(parseReference(reference)).toEqual({ registry, path, tag, digest });
  });

  it.each([
    ['nginx', 'nginx:latest', 'nginx', 'latest'],
    ['cafe', 'cafe:latest', 'cafe', 'latest'],
    ['127.0.0.1:5000/web', '127.0.0.1:5000/web:latest', '127.0.0.1:5000/web', 'latest'],
    ['ghcr.io/acme/web:1', 'ghcr.io/acme/web:1', 'ghcr.io/acme/web', '1'],
    [`web:1@${DIGEST}`, `web@${DIGEST}`, 'web', DIGEST],
  ])('%s is exactly %s, and pulled as %s and %s', (reference, exact, name, version) => {
    expect(exactReference(reference)).toBe(exact);
    expect(pullParts(reference)).toEqual({ name, version });
  });

  it('that is the id of an image stays as it is', () => {
    expect(isImageId(DIGEST)).toBe(true);
    expect(isImageId(HEX)).toBe(true);
    expect(isImageId('cafe')).toBe(false);
    expect(exactReference(DIGEST)).toBe(DIGEST);
  });
});
