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

/** The file of the bundle that `dist/main.js` loads on demand for the worker (`main`) or for all other commands (`program`). */
async function entryOf(source: 'main' | 'program'): Promise<string> {
  const main = await readFile(join(DIST, 'main.js'), 'utf8');
  const [entry] = [...main.matchAll(DYNAMIC_IMPORT)].flatMap(([, name = '']) =>
    name.startsWith(`./${source}-`) ? [name] : [],
  );
  if (entry === undefined) throw new Error(`dist/main.js loads no ${source}`);
  return entry;
}

/** The sources of a file of the bundle, and of all that it loads at its start. */
async function sourcesOf(entry: string): Promise<string[]> {
  const files = [entry, ...(await loadedBy(entry))].filter((name) => name.startsWith('./'));
  const texts = await Promise.all(files.map((name) => readFile(join(DIST, name), 'utf8')));
  return texts.flatMap((text) => [...text.matchAll(/^\/\/ (src\/\S+)$/gm)].map(([, path = '']) => path));
}

function packagesIn(names: Iterable<string>): string[] {
  return [...names].filter((name) => !name.startsWith('./') && !name.startsWith('node:'));
}

describe('the commands of the built program', () => {
  it('load nothing of the manager before it is served', async () => {
    const entry = await entryOf('program');
    const sources = await sourcesOf(entry);
    expect(sources).toContain('src/cli/check/plan.ts');
    const ofManager = /^src\/(accounts|change|http|ids|reconcile|service|store)\//;
    expect(sources.filter((path) => ofManager.test(path))).toEqual([]);
    expect(packagesIn(await loadedBy(entry))).toEqual(['yaml']);
  });
});

describe('the worker of the built program', () => {
  it('loads pino as its only package that is not bundled', async () => {
    const loaded = await loadedBy(await entryOf('main'));
    expect(packagesIn(loaded)).toEqual(['pino']);
  });

  it('shares no file with what only the manager loads', async () => {
    const sources = await sourcesOf(await entryOf('main'));
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
