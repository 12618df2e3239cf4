import { describe } from 'vitest';
import { changesContract } from '../contract/changes.ts';
import { storeContract } from '../contract.ts';
import { openInNewDatabase, SERVER } from './test-database.ts';

describe.skipIf(SERVER.isMissing)('on a server', SERVER.limits, () => {
  storeContract('MongoDB', openInNewDatabase);
  changesContract(openInNewDatabase);
});
