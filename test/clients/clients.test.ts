import { type ExecFileOptions, execFile } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it, type TestContext } from 'vitest';
import { messageOf } from '../../src/errors.ts';
import { temporaryFolder } from '../support/folder.ts';
import { PASSWORD, startManager, type TestManager, USER } from '../support/manager.ts';
import { PROJECT } from '../support/project.ts';

/** The generators, with what their clients need. `.ci/run` gets them from the registries of npm and of Python. */
const FOR_TYPESCRIPT = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];
const FOR_PYTHON = ['openapi-python-client==0.29.1'];

/** Runs a command and resolves to what it prints; rejects with all of its output if it fails. */
async function run(command: string, args: readonly string[], options: ExecFileOptions = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { ...options, encoding: 'utf8' }).catch(
    (error: { stdout: string; stderr: string; message: string }) => {
      throw new Error(`${error.message}\n${error.stdout}${error.stderr}`);
    },
  );
  return stdout;
}

const ends: (() => Promise<void>)[] = [];
const folderFor = (): Promise<string> => temporaryFolder((end) => void ends.push(end));
afterAll(async () => {
  for (const end of ends) await end();
});

/** Resolves to whether a command succeeds, and says in one line why its tests are left out if not. */
async function succeeds(what: string, steps: () => Promise<unknown>): Promise<boolean> {
  try {
    await steps();
    return true;
  } catch (error) {
    const [why] = messageOf(error).trim().split('\n').slice(-1);
    process.stdout.write(`skipped: ${what} cannot be had here, so no client was made by it (${why})\n`);
    return false;
  }
}

/** A manager without apps, with its document as `openapi.json` in a folder. */
async function managerAndDocument(folder: string): Promise<TestManager> {
  const manager = await startManager({ files: { 'apps/other.yaml': 'container_image: busybox\n' } });
  await writeFile(join(folder, 'openapi.json'), (await manager.get('/openapi.json')).text);
  return manager;
}

/** Runs a program that uses a client; resolves to what it prints. */
async function use(manager: TestManager, command: string, args: readonly string[], cwd: string) {
  const env = {
    ...process.env,
    HOLDFAST: manager.service.address,
    CREDENTIALS: `${USER}:${PASSWORD}`,
  };
  return JSON.parse(await run(command, args, { cwd, env }));
}

/** Checks what a program printed, and what it has left in the manager. */
async function expectAllDone(manager: TestManager, printed: unknown): Promise<void> {
  const reports = (await manager.get('/api/v2/reports?page_size=100')).body.data;
  expect(printed).toEqual({
    again: [403, true],
    updated: 'nginx:1.27',
    ports: [80, { '8443': '443' }],
    info: [['shop', 'nginx:1.27', 'debug']],
    unchanged: 304,
    accepted: 2,
    reports: [['till-1', reports[0]._id.$oid]],
    last: null,
  });
  expect(reports).toMatchObject([{ updated: true, memory_usage: { used: 12 } }, { updated: false }]);
  expect((await manager.get('/api/v2/apps/shop')).body).toMatchObject({
    container_image: 'nginx:1.27',
    starting_ports: [80, { '8443': '443' }],
    containers_per: { cpu: 0.5 },
    env_vars: { LOG_LEVEL: 'debug' },
  });
  expect((await manager.get('/api/v2/device_groups/tills')).body.apps).toEqual(['shop']);
}

describe('a generated client can create, update, poll and report', () => {
  it('made by openapi-typescript', async (context) => {
    const folder = await folderFor();
    const options = { cwd: folder };
    await cp(join(PROJECT, 'test/clients/programs/program.ts'), join(folder, 'program.ts'));
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...FOR_TYPESCRIPT];
    if (!(await succeeds('openapi-typescript', () => run('npm', install, options)))) context.skip();
    const manager = await managerAndDocument(folder);
    const bin = join(folder, 'node_modules/.bin');
    await run(join(bin, 'openapi-typescript'), ['openapi.json', '--output', 'api.d.ts'], options);
    const compilerOptions = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
    const types = ['--allowImportingTsExtensions', '--rewriteRelativeImportExtensions', '--types', 'node'];
    await run(
      join(bin, 'tsc'),
      [...compilerOptions, ...types, '--typeRoots', join(PROJECT, 'node_modules/@types'), 'program.ts'],
      options,
    );
    await expectAllDone(manager, await use(manager, process.execPath, ['program.js'], folder));
  });

  it('made by openapi-python-client', async (context: TestContext) => {
    const folder = await folderFor();
    await cp(join(PROJECT, 'test/clients/programs/program.py'), join(folder, 'program.py'));
    const bin = join(folder, 'venv/bin');
    const install = async (): Promise<void> => {
      await run('python3', ['-m', 'venv', join(folder, 'venv')]);
      await run(join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...FOR_PYTHON]);
    };
    if (!(await succeeds('openapi-python-client', install))) context.skip();
    const manager = await managerAndDocument(folder);
    const options = { cwd: folder, env: { ...process.env, PATH: `${bin}:${process.env['PATH']}` } };
    const generate = ['generate', '--path', 'openapi.json', '--output-path', 'made', '--fail-on-warning'];
    await run('openapi-python-client', generate, options);
    const program = ['-c', 'import sys, runpy; sys.path.insert(0, "made"); runpy.run_path("program.py")'];
    await expectAllDone(manager, await use(manager, join(bin, 'python'), program, folder));
  });
});
