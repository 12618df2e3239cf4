/** Runs before each test file: property tests take their examples from the seed of the run (`choose-seed.ts`). */
import fc from 'fast-check';
import { seedOfRun } from './random.ts';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: seedOfRun() });
