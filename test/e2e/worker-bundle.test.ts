import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT } from '../support/project.ts';
import { runProgram } from './program.ts';

const DIST = join(PROJECT, 'dist');
const STATIC_IMPORT = /^(?:import|export)\s*(?:[\w*{][^"';]*from\s*)?"([^"]+)";/gm;
const DYNAMIC_IMPORT = /\bimport\(\s*"([^"]+)"\s*\)/g;

/** All that a file of the bundle loads at its start: its own files, and packages. */
async function loadedBy(file: string, found = new Set<string>()): Promise<Set<string>> {
  const text = await readFile(join(DIST, file), 'utf8');
  for (const [, name = ''] of text.matchAll(STATIC_IMPORT)) {
    if (found.has(name)) continue;
    found.add(name);
    if (name.startsWith('./')) await loadedBy(name, found);
  }
  return found;
}

/** The file of the bundle that starts the worker: of those that the entry loads on demand, the one that is no program. */
async function workerEntry(): Promise<string> {
  const main = await readFile(join(DIST, 'main.js'), 'utf8');
  const [entry] = [...main.matchAll(DYNAMIC_IMPORT)].flatMap(([, name = '']) =>
    name.startsWith('./main-') ? [name] : [],
  );
  if (entry === undefined) throw new Error('dist/main.js loads no worker');
  return entry;
}

function packagesIn(names: Iterable<string>): string[] {
  return [...names].filter((name) => !name.startsWith('./') && !name.startsWith('node:'));
}

describe('the worker of the built program', () => {
  it('loads pino as its only package that is not bundled', async () => {
    const loaded = await loadedBy(await workerEntry());
    expect(packagesIn(loaded)).toEqual(['pino']);
  });

  it('shares no file with what only the manager loads', async () => {
    const entry = await workerEntry();
    const texts = await Promise.all(
      [entry, ...(await loadedBy(entry))]
        .filter((name) => name.startsWith('./'))
        .map((name) => readFile(join(DIST, name), 'utf8')),
    );
    const sources = texts.flatMap((text) =>
      [...text.matchAll(/^\/\/ (src\/\S+)$/gm)].map(([, path = '']) => path),
    );
    expect(sources).toContain('src/worker/main.ts');
    const ofManager =
      /^src\/((program|settings|config)\.ts$|(desired|plan|source|store|reconcile|change|http|cli|service)\/)/;
    expect(sources.filter((path) => ofManager.test(path))).toEqual([]);
  });

  it('is what "holdfast worker" and "holdfast help worker" start', async () => {
    for (const args of [
      ['worker', '--help'],
      ['help', 'worker'],
    ]) {
      const { ended, stdout } = runProgram(args);
      expect(await ended).toBe(0);
      expect(stdout()).toMatch(/^holdfast worker: the agent on a device/);
    }
    const { ended, output } = runProgram(['worker', 'status'], { DATA_DIR: DIST });
    expect(await ended).toBe(3);
    expect(output()).toContain(`no worker runs with the data folder ${DIST}`);
  });

  it('is part of a bundle whose files have no package but those that are installed with it', async () => {
    const { dependencies } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
    const files = (await readdir(DIST)).filter((file) => file.endsWith('.js'));
    for (const file of files)
      for (const name of packagesIn(await loadedBy(file)))
        expect(Object.keys(dependencies), file).toContain(name);
  });
});
