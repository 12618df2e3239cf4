import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { inNamespace, obstacleToEngines } from '../../support/engine/namespace.ts';
import { PROJECT } from '../../support/project.ts';
import { foundOrRequired } from '../../support/tools.ts';

const canRun = foundOrRequired('docker', obstacleToEngines() === null);

describe.skipIf(!canRun)('a real container engine', () => {
  it('passes the first of its tests; npm run test:engine has all', async () => {
    const vitest = ['node_modules/.bin/vitest', 'run', '--project', 'engine', 'smoke'];
    const [command = '', ...args] = inNamespace(vitest);
    const { stdout } = await promisify(execFile)(command, args, { cwd: PROJECT });
    expect(stdout).toMatch(/smoke\.test\.ts/);
  });
});
