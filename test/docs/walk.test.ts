import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PASSWORD, startManager, USER } from '../support/manager.ts';
import { cloneProject, PROJECT } from '../support/project.ts';

const execute = promisify(execFile);

it('examples/walk.sh: every line does what it says', async () => {
  const repository = await cloneProject();
  const manager = await startManager({ repository });
  const env = {
    PATH: process.env['PATH'],
    HOLDFAST: manager.service.address,
    CREDENTIALS: `${USER}:${PASSWORD}`,
  };
  const walk = await readFile(join(PROJECT, 'examples/walk.sh'), 'utf8');
  const commands = walk.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const asked = new Set<string>();
  for (const command of commands) {
    const { stdout } = await execute('sh', ['-euc', command], { env });
    if (command.endsWith('/metrics')) expect(stdout).toContain('holdfast_passes_total');
    else expect(() => JSON.parse(stdout), `${command}\n${stdout}`).not.toThrow();
    const method = /--request (\w+)/.exec(command)?.[1] ?? (command.includes('--json') ? 'POST' : 'GET');
    asked.add(`${method} ${/\$HOLDFAST([^\s"?]*)/.exec(command)?.[1]}`);
  }
  expect(await manager.repository.git('log', '--format=%s', '--reverse', 'HEAD~9..')).toBe(
    [
      'app walk: create',
      'device group walkers: create',
      'app walk: container_image 1.26 -> 1.27, env_vars',
      'app walk: starting_ports, env_vars',
      'app walk: running true -> false',
      'app walk: running false -> true',
      'device group walkers: add node-exporter',
      'device group walkers: reorder apps',
      'app walk: delete',
      'device group walkers: delete',
    ]
      .slice(1)
      .join('\n'),
  );
  expect(await missedRoutes(manager, asked)).toEqual([]);
});

/** Routes of the OpenAPI document that the walk does not ask for; PATCH does what PUT does. */
async function missedRoutes(
  manager: Awaited<ReturnType<typeof startManager>>,
  asked: ReadonlySet<string>,
): Promise<string[]> {
  const { body } = await manager.get('/openapi.json');
  const routes = Object.entries(body.paths as Record<string, Record<string, unknown>>).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const isAsked = (route: string): boolean => {
    const pattern = new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return [...asked].some((one) => pattern.test(one));
  };
  return routes.filter((route) => !/^(PATCH|HEAD) /.test(route) && !isAsked(route));
}
