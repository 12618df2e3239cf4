import { describe } from 'vitest';
import { storeContract } from './contract.ts';
import { openInNewDatabase, TEST_URI } from './mongo-place.ts';

describe.skipIf(TEST_URI === undefined)('with a server', () => {
  storeContract('MongoDB', openInNewDatabase);
});
