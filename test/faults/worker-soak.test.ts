import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { inNamespace, obstacleToEngines } from '../support/engine/namespace.ts';
import { PROJECT } from '../support/project.ts';
import { foundOrRequired } from '../support/tools.ts';

const canRun = foundOrRequired('docker', obstacleToEngines() === null);
/** Seconds; without them, it is left out. */
const SOAK = process.env['HOLDFAST_TEST_SOAK'];

describe.skipIf(!canRun || SOAK === undefined)('ten workers on a real container engine', () => {
  it(
    'run exactly what git says after a long time of commits and kills',
    async () => {
      const vitest = ['node_modules/.bin/vitest', 'run', '--project', 'engine', 'worker-soak'];
      const [command = '', ...args] = inNamespace(vitest);
      const env = { ...process.env, HOLDFAST_TEST_SOAK: SOAK };
      const { stdout } = await promisify(execFile)(command, args, { cwd: PROJECT, env });
      expect(stdout).toMatch(/worker-soak\.test\.ts/);
    },
    (Number(SOAK) + 600) * 1000,
  );
});
