import { describe, expect, it } from 'vitest';
import { createRequestIds, REQUEST_ID } from '../../../src/http/request/request-id.ts';

describe('createRequestIds', () => {
  it('generates different ids of 32 hexadecimal digits, also beyond one batch', () => {
    const newId = createRequestIds();
    const ids = Array.from({ length: 1000 }, newId);
    expect(new Set(ids).size).toBe(1000);
    expect(ids.filter((id) => !(REQUEST_ID.test(id) && /^[0-9a-f]{32}$/.test(id)))).toEqual([]);
  });

  it('generates other ids for another server', () => {
    expect(createRequestIds()()).not.toBe(createRequestIds()());
  });
});
