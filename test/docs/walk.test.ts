import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PASSWORD, startManager, type TestManager, USER } from '../support/manager.ts';
import { cloneProject, PROJECT } from '../support/project.ts';

const execute = promisify(execFile);

it('the commands of examples/walk.sh succeed, make the expected commits, and use every route', async () => {
  const repository = await cloneProject();
  const manager = await startManager({ repository });
  const env = {
    PATH: process.env['PATH'],
    HOLDFAST: manager.service.address,
    CREDENTIALS: `${USER}:${PASSWORD}`,
  };
  const walk = await readFile(join(PROJECT, 'examples/walk.sh'), 'utf8');
  const commands = walk.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const used = new Set<string>();
  for (const command of commands) {
    const { stdout } = await execute('sh', ['-euc', command], { env });
    if (command.endsWith('/metrics')) expect(stdout).toContain('holdfast_passes_total');
    else expect(() => JSON.parse(stdout), `${command}\n${stdout}`).not.toThrow();
    const method = /--request (\w+)/.exec(command)?.[1] ?? (command.includes('--json') ? 'POST' : 'GET');
    used.add(`${method} ${/\$HOLDFAST([^\s"?]*)/.exec(command)?.[1]}`);
  }
  const subjects = await manager.repository.git('log', '--format=%s', '--reverse', 'HEAD~18..');
  expect(subjects.split('\n')).toEqual([
    'app walk: create',
    'device group walkers: create',
    'app walk: container_image 1.26 -> 1.27, env_vars',
    'app walk: starting_ports, env_vars',
    'app walk: running true -> false',
    'app walk: running false -> true',
    'device group walkers: add node-exporter',
    'device group walkers: reorder apps',
    'Try two apps',
    'app walk-3: create',
    expect.stringMatching(/^app walk-3: undo [0-9a-f]{12} \(delete\)$/),
    'device till-2: create',
    'device till-2: variables',
    'device till-2: variables, device_group walkers -> none',
    'device till-2: delete',
    'app walk-2: delete',
    'app walk: delete',
    'device group walkers: delete',
  ]);
  expect(await unusedRoutes(manager, used)).toEqual([]);
});

/** Routes of the OpenAPI document without a request in `used`; PATCH does what PUT does, and HEAD what GET does. */
async function unusedRoutes(manager: TestManager, used: ReadonlySet<string>): Promise<string[]> {
  const { body } = await manager.get('/openapi.json');
  const routes = Object.entries(body.paths as Record<string, Record<string, unknown>>).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const isUsed = (route: string): boolean => {
    const pattern = new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return [...used].some((request) => pattern.test(request));
  };
  return routes.filter((route) => !/^(PATCH|HEAD) /.test(route) && !isUsed(route));
}
