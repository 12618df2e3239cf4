import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { runProgram } from './program.ts';

/** Runs `--version` in a Node.js that claims to be this version. */
async function runIn(version: string): Promise<{ code: number | null; output: string }> {
  const file = join(await temporaryFolder(), 'version.cjs');
  const versions = `{ ...process.versions, node: '${version}' }`;
  await writeFile(file, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  const program = runProgram(['--version'], { NODE_OPTIONS: `--require=${file}` });
  return { code: await program.ended, output: program.output() };
}

describe('the built program', () => {
  it.each(['18.20.8', '20.18.3'])(
    'exits with 2 in Node.js %s, and says which version it needs',
    async (version) => {
      const output = `holdfast: Node 20.19 or newer is needed; this is ${version}\n`;
      expect(await runIn(version)).toEqual({ code: 2, output });
    },
  );

  it.each(['20.19.0', '22.1.0'])('runs in Node.js %s', async (version) => {
    expect((await runIn(version)).code).toBe(0);
  });
});
