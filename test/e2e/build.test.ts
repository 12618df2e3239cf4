import { appendFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder, type WhenDone } from '../support/folder.ts';
import { cloneProject, startProcess, type TestProcess } from '../support/project.ts';
import { runProgramFrom, setUpFleet, stop } from './program.ts';

const ADDRESS = /"address":"([^"]+)"/;
const BUILD = ['run', '--silent', 'build'];

/** A copy of this project in which the tests may change sources and build. */
async function startProject(whenDone: WhenDone) {
  const { folder } = await cloneProject(whenDone);
  const npm = (args: readonly string[], env: Record<string, string> = {}): TestProcess =>
    startProcess('npm', args, { cwd: folder, env: { ...process.env, ...env } });
  const build = async (...args: string[]): Promise<void> => {
    const program = npm([...BUILD, ...args]);
    expect(await program.ended, program.output()).toBe(0);
  };
  /** Changes what the program is made of; each text makes a different program. */
  const edit = (text: string): Promise<void> =>
    appendFile(join(folder, 'src/program.ts'), `\nprocess.title = '${text}';\n`);
  const files = async (): Promise<string[]> => (await readdir(join(folder, 'dist'))).sort();
  const inode = async (): Promise<number> => (await stat(join(folder, 'dist/main.js'))).ino;
  return { folder, npm, build, edit, files, inode };
}

// One for all tests, each of which begins with a build.
let project: Awaited<ReturnType<typeof startProject>>;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  project = await startProject((end) => void ends.push(end));
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

describe('npm start', () => {
  it('starts five managers at once after an edit, while one of before serves and loads its lazy parts', async () => {
    const { folder, npm, build, edit, inode } = project;
    await build();
    const { env } = await setUpFleet();
    const settings = { ...env, AUTH_ENABLED: 'false' };
    const running = runProgramFrom(join(folder, 'dist/main.js'), ['serve'], settings);
    const [, address] = await running.waitFor(ADDRESS);
    await edit('edited');
    const starts = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const own = {
          PORT: '0',
          DATA_DIR: await temporaryFolder(),
          DESIRED_STATE: env['DESIRED_STATE'] ?? '',
        };
        return npm(['start'], own);
      }),
    );
    for (const start of starts) {
      const [, other] = await start.waitFor(ADDRESS);
      expect((await fetch(`${other}/healthz`)).status).toBe(200);
      expect((await fetch(`${address}/metrics`)).status).toBe(200);
    }
    expect((await fetch(`${address}/openapi.json`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    const built = await inode();
    await build();
    expect(await inode()).toBe(built);
  });
});

describe('npm run build', () => {
  it('does nothing until a source changes, or a file of the build is damaged or missing', async () => {
    const { folder, build, edit, inode } = project;
    await build();
    const first = await inode();
    await build();
    expect(await inode()).toBe(first);
    const damages = [
      () => edit('edited'),
      () => writeFile(join(folder, 'dist/main.js'), ''),
      () => rm(join(folder, 'dist/worker.js')),
      () => writeFile(join(folder, 'dist/build.json'), '{'),
    ];
    for (const damage of damages) {
      const before = await inode();
      await damage();
      await build();
      expect(await inode()).not.toBe(before);
      const program = runProgramFrom(join(folder, 'dist/main.js'), ['--version'], {});
      expect(await program.ended, program.output()).toBe(0);
    }
  });

  it('keeps the files of the build before until the next one, even if many builds run at once', async () => {
    const { folder, npm, build, edit, files } = project;
    await build('--', '--clean');
    const first = await files();
    for (const text of ['second', 'third']) {
      const before = await files();
      await edit(text);
      const builds = Array.from({ length: 4 }, () => npm(BUILD));
      expect(await Promise.all(builds.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
      if (text === 'second') expect(await files()).toEqual(expect.arrayContaining(before));
    }
    const ofFirst = first.filter((name) => name.startsWith('program-'));
    const programs = (await files()).filter((name) => name.startsWith('program-') && name.endsWith('.js'));
    expect(ofFirst.length).toBeGreaterThan(0);
    expect(programs).toHaveLength(2);
    expect(programs).not.toEqual(expect.arrayContaining(ofFirst));

    await build('--', '--clean');
    const { files: recorded } = JSON.parse(await readFile(join(folder, 'dist/build.json'), 'utf8'));
    expect(await files()).toEqual(['build.json', ...Object.keys(recorded)].sort());
    expect(await files()).toHaveLength(first.length);
  });
});
