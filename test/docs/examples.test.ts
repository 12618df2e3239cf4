import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { createMetrics } from '../../src/service/observability/metrics.ts';
import { parseConfig } from '../../src/settings/config.ts';
import { flagOf } from '../../src/settings/read.ts';
import { SETTINGS, type SettingName } from '../../src/settings/table.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type TestRepository, testRepository } from '../support/git.ts';
import { noDevices } from '../support/no-devices.ts';
import { PROJECT } from '../support/project.ts';
import { foundOrRequired, works } from '../support/tools.ts';

const execute = promisify(execFile);
const EXAMPLES = join(PROJECT, 'examples');

/** A secret also counts with the name of the variable for its file. */
function unknownSettings(names: readonly string[]): string[] {
  return names.filter(
    (name) => !Object.hasOwn(SETTINGS, name) && !Object.hasOwn(SETTINGS, name.replace(/_FILE$/, '')),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: files of other programs, of any shape
async function readYaml(name: string): Promise<any> {
  const document = parseDocument(await readFile(join(EXAMPLES, name), 'utf8'), { strict: true, merge: true });
  expect([...document.errors, ...document.warnings]).toEqual([]);
  return document.toJS();
}

interface Named {
  name: string;
}

function nameOf({ name }: Named): string {
  return name;
}

/** The fleet of this project on a branch with one commit, as CI checks out a pull request; `origin/main` has a newer commit. */
async function pullRequest(): Promise<TestRepository> {
  const repository = await testRepository();
  await cp(join(PROJECT, 'desired-state'), join(repository.folder, 'desired-state'), { recursive: true });
  await repository.commit({});
  await repository.git('checkout', '--quiet', '-b', 'change');
  await repository.git('checkout', '--quiet', 'main');
  await repository.commit({ 'desired-state/apps/newer-on-main.yaml': 'container_image: newer:1\n' });
  await repository.git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  await repository.git('checkout', '--quiet', 'change');
  await repository.commit({ 'desired-state/apps/shop/spring-sale.yaml': 'container_image: sale:2\n' });
  return repository;
}

/**
 * Returns a function that runs shell lines with the variables that CI sets, and rejects if the exit code is not 0. A
 * function of the shell stands in for `npx`, which takes seconds; readme.test.ts uses the real one.
 */
function runner(
  { folder }: TestRepository,
  variables: Record<string, string> = {},
): (line: string) => Promise<string> {
  const branch = { BASE_BRANCH: 'main', GITHUB_STEP_SUMMARY: join(folder, 'summary'), ...variables };
  const npx = `npx() { shift; '${process.execPath}' '${join(PROJECT, 'dist/main.js')}' "$@"; }`;
  return async (line) => {
    const env = { PATH: process.env['PATH'], ...branch };
    const { stdout } = await execute('sh', ['-euc', `${npx}\n${line}`], { cwd: folder, env });
    return stdout;
  };
}

/** The comments of one merge request, served as GitLab does. */
async function startNotes() {
  const notes = [{ id: 1, body: 'a comment of somebody' }];
  const requests: string[] = [];
  const server = createServer(async (request, reply) => {
    requests.push(request.method ?? '');
    const body = new URLSearchParams(await text(request)).get('body') ?? '';
    const id = Number(/\/notes\/(\d+)$/.exec(request.url ?? '')?.[1] ?? notes.length + 1);
    const isAllowed = request.headers['private-token'] === 'secret';
    if (isAllowed && request.method !== 'GET') notes[id - 1] = { id, body };
    reply.writeHead(isAllowed ? 200 : 401).end(JSON.stringify(notes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, notes, requests };
}

describe('commands of holdfast in documents and examples', () => {
  it('succeed as README.md and docs/ have them', async () => {
    const docs = (await readdir(join(PROJECT, 'docs'))).filter((name) => name.endsWith('.md'));
    const texts = await Promise.all(
      ['README.md', ...docs.map((name) => `docs/${name}`)].map((file) =>
        readFile(join(PROJECT, file), 'utf8'),
      ),
    );
    const commands = new Set(
      texts.flatMap((text) => [...text.matchAll(/`(npx holdfast [^`]*)`/g)].map(([, line = '']) => line)),
    );
    expect([...commands]).toEqual(
      expect.arrayContaining([
        'npx holdfast validate',
        'npx holdfast plan --against $(git merge-base origin/main HEAD)',
      ]),
    );
    const run = runner(await pullRequest());
    for (const command of commands) expect(await run(command), command).not.toBe('');
  });

  it('show in github-actions.yaml what a pull request changes, without newer commits of main', async () => {
    const { jobs } = await readYaml('github-actions.yaml');
    const lines: string[] = jobs.check.steps.flatMap(({ run }: { run?: string }) => run ?? []);
    const [install, ...commands] = lines;
    expect(install).toBe('npm ci');
    expect(commands.filter((line) => line.startsWith('npx holdfast'))).toHaveLength(2);
    const clone = await pullRequest();
    const run = runner(clone);
    for (const command of commands.slice(0, -1)) await run(command);
    const summary = await readFile(join(clone.folder, 'summary'), 'utf8');
    expect(summary).toMatch(
      /^<!-- holdfast plan: desired-state -->\n### Plan: .*\n\| ~ \| app `spring-sale` \|/s,
    );
    expect(summary).not.toContain('newer-on-main');
  });

  it('fail in github-actions.yaml if files have problems, and the plan is still shown', async () => {
    const { jobs } = await readYaml('github-actions.yaml');
    const clone = await pullRequest();
    await clone.commit({ 'desired-state/apps/bad.yaml': 'container_image: [\n' });
    const run = runner(clone);
    const codes: number[] = [];
    for (const step of jobs.check.steps.slice(-4, -1))
      codes.push(
        await run(step.run).then(
          () => 0,
          ({ code }) => code,
        ),
      );
    expect(codes).toEqual([1, 1, 0]);
    const conditions = jobs.check.steps.slice(-3, -1).map((step: { if?: string }) => step.if);
    expect(conditions).toEqual(Array(2).fill('$' + '{{ !cancelled() }}'));
    const summary = await readFile(join(clone.folder, 'summary'), 'utf8');
    expect(summary).toMatch(/error: `desired-state\/apps\/bad\.yaml:2:1`: .*~ \| app `spring-sale` /s);
  });

  it('keep one comment up to date in github-actions.yaml', async () => {
    const { jobs } = await readYaml('github-actions.yaml');
    const { run: comment } = jobs.check.steps.at(-1);
    const clone = await pullRequest();
    // Stands in for the command of GitHub: remembers its arguments, and finds the comment once there is one.
    const gh =
      'gh() { echo "$*" >> calls; case "$*" in *--jq*) cat id 2> /dev/null || true ;; *) echo 7 > id ;; esac; }';
    const run = runner(clone, { GITHUB_REPOSITORY: 'shop/fleet', PULL_REQUEST: '12' });
    await writeFile(join(clone.folder, 'plan.md'), 'a plan\n');
    for (const _ of [1, 2]) await run(`${gh}\n${comment}`);
    const calls = (await readFile(join(clone.folder, 'calls'), 'utf8')).split('\n');
    expect(calls.filter((call) => call.includes('--field'))).toEqual([
      'api --silent repos/shop/fleet/issues/12/comments --field body=@plan.md',
      'api --silent --method PATCH repos/shop/fleet/issues/comments/7 --field body=@plan.md',
    ]);
  });

  it.skipIf(!works('curl', ['--version']))('keep one comment up to date in gitlab-ci.yaml', async () => {
    const job = (await readYaml('gitlab-ci.yaml'))['desired-state'];
    const clone = await pullRequest();
    const base = await clone.git('merge-base', 'origin/main', 'HEAD');
    const forge = await startNotes();
    const run = runner(clone, {
      CI_MERGE_REQUEST_DIFF_BASE_SHA: base,
      CI_API_V4_URL: forge.address,
      CI_PROJECT_ID: '3',
      CI_MERGE_REQUEST_IID: '12',
      PLAN_TOKEN: 'secret',
    });
    const script = job.script.filter((line: string) => line.includes('plan.md') || line.startsWith('base='));
    for (const _ of [1, 2]) await run(script.join('\n'));
    expect(forge.notes).toEqual([
      { id: 1, body: 'a comment of somebody' },
      { id: 2, body: expect.stringMatching(/^<!-- holdfast plan: desired-state -->\n### Plan: /) },
    ]);
    expect(forge.requests).toEqual(['GET', 'POST', 'GET', 'PUT']);
  });

  it.each([
    ['a pipeline of the branch', false],
    ['a pipeline of merged results', true],
  ])(
    'show in gitlab-ci.yaml what a merge request changes, in %s without origin/main',
    async (_, isMerged) => {
      const job = (await readYaml('gitlab-ci.yaml'))['desired-state'];
      const [install, ...commands]: string[] = job.script;
      expect(install).toBe('npm ci');
      expect(commands.filter((line) => line.startsWith('npx holdfast'))).toHaveLength(3);
      const clone = await pullRequest();
      const target = await clone.git('rev-parse', 'origin/main');
      const base = await clone.git('merge-base', target, 'HEAD');
      await clone.git('update-ref', '-d', 'refs/remotes/origin/main');
      if (isMerged) await clone.git('merge', '--quiet', '--no-edit', target);
      const run = runner(clone, {
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME: 'main',
        CI_MERGE_REQUEST_DIFF_BASE_SHA: base,
        CI_MERGE_REQUEST_TARGET_BRANCH_SHA: isMerged ? target : '',
      });
      await run(commands.join('\n').replaceAll(' || true', ''));
      for (const file of job.artifacts.paths) {
        const report = JSON.parse(await readFile(join(clone.folder, file), 'utf8'));
        expect(report).toMatchObject({ problems: [], steps: [{ name: 'spring-sale' }] });
      }
    },
  );
});

/** A service of a Compose file, as far as tests read it. */
interface Service {
  image?: string;
  restart?: string;
  environment?: Record<string, string>;
  secrets?: string[];
  networks?: string[];
  logging?: { options: object };
  mem_limit?: string;
  pids_limit?: number;
}

describe('settings in examples exist', () => {
  it.each(['compose.yaml', 'compose-many.yaml'])(
    'in %s, whose managers run with few rights',
    async (file) => {
      const { services } = await readYaml(file);
      const managers = Object.entries<{ environment: object }>(services).filter(([name]) =>
        name.startsWith('manager'),
      );
      expect(managers.length).toBeGreaterThan(0);
      const fewRights = {
        read_only: true,
        init: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      };
      for (const [name, service] of managers) {
        expect(unknownSettings(Object.keys(service.environment)), name).toEqual([]);
        expect(service, name).toMatchObject(fewRights);
      }
    },
  );

  it('in kubernetes.yaml, whose volumes, secrets, ports and probes fit together', async () => {
    const text = await readFile(join(EXAMPLES, 'kubernetes.yaml'), 'utf8');
    const [set, service, policy] = parseAllDocuments(text).map((document) => document.toJS());
    const { spec } = set.spec.template;
    const [manager] = spec.containers;
    const mounts = new Map<string, string>(
      manager.volumeMounts.map((mount: { name: string; mountPath: string }) => [mount.name, mount.mountPath]),
    );
    const secrets = [...text.matchAll(/--from-literal=([\w-]+)=/g)].map(
      ([, key]) => `${mounts.get('secrets')}/${key}`,
    );
    const env = Object.fromEntries(
      manager.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    const result = parseConfig(env, [], (path) => {
      if (!secrets.includes(path)) throw new Error('not in the secret');
      return path;
    });
    expect(result).toMatchObject({ ok: true });
    expect(unknownSettings(Object.keys(env))).toEqual([]);
    expect(secrets).toContain(env.GIT_TOKEN_FILE);
    expect(env.DATA_DIR).toMatch(new RegExp(`^${mounts.get('data')}/.`));
    const volumes = [
      ...spec.volumes.map(nameOf),
      ...set.spec.volumeClaimTemplates.map(({ metadata }: { metadata: Named }) => metadata.name),
    ];
    expect(volumes.sort()).toEqual([...mounts.keys()].sort());
    expect([set.spec.replicas, set.spec.serviceName]).toEqual([1, service.metadata.name]);
    expect(service.spec.selector).toEqual(set.spec.template.metadata.labels);
    expect(manager.ports.map(nameOf)).toContain(service.spec.ports[0].targetPort);
    expect(policy.spec.podSelector.matchLabels).toEqual(set.spec.template.metadata.labels);
    expect(policy.spec.ingress[0].ports.map(({ port }: { port: string }) => port)).toEqual(
      manager.ports.map(nameOf),
    );
    expect(spec.volumes.map(({ emptyDir }: { emptyDir?: object }) => emptyDir)).toContainEqual({
      sizeLimit: expect.any(String),
    });
    expect(manager.securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
    });
    // Otherwise devices could not reach the last good replies while the store is unavailable.
    expect(service.spec.publishNotReadyAddresses).toBe(true);
    const probes = [manager.readinessProbe, manager.livenessProbe].map(({ httpGet }) => httpGet.path);
    expect(probes).toEqual(['/readyz', '/healthz']);
  });

  it('in holdfast.service, as variables and as flags', async () => {
    const unit = await readFile(join(EXAMPLES, 'holdfast.service'), 'utf8');
    const lines = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
    const names = lines.map((line) => line.split('=')[0] ?? '');
    expect(names).toContain('DESIRED_STATE');
    const credentials = [...unit.matchAll(/^LoadCredential=([\w-]+):/gm)].map(([, name]) => name);
    const used = [...unit.matchAll(/_FILE=%d\/(\S+)/g)].map(([, name]) => name);
    expect(used).toEqual(credentials);
    expect(unknownSettings(names)).toEqual([]);
    const flags = (Object.keys(SETTINGS) as SettingName[]).map((name) => `--${flagOf(name)}`);
    const [, start = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
    expect(start).toContain('holdfast serve');
    for (const flag of start.match(/--[\w-]+/g) ?? []) expect(flags).toContain(flag);
  });
});

const HAS_SYSTEMD = foundOrRequired('systemd-analyze', works('systemd-analyze', ['--version']));

it.skipIf(!HAS_SYSTEMD)('systemd rates the exposure of holdfast.service 1.4 or better, of 10', async () => {
  const unit = join(EXAMPLES, 'holdfast.service');
  await execute('systemd-analyze', ['security', '--offline=yes', '--threshold=14', unit]);
});

describe.each(['compose.yaml', 'compose-many.yaml'])('%s', async (file) => {
  const { services, secrets } = await readYaml(file);
  const running = Object.entries<Service>(services).filter(([, { restart }]) => restart !== undefined);

  it('limits the log, the memory and the processes of each service', () => {
    expect(running.length).toBeGreaterThan(1);
    for (const [name, service] of running) {
      expect(service.logging?.options, name).toHaveProperty('max-size');
      expect([service.mem_limit, service.pids_limit], name).not.toContain(undefined);
    }
  });

  it('has no secrets in the environment', () => {
    const all = Object.values<Service>(services).flatMap(({ environment = {} }) => Object.keys(environment));
    expect(all.filter((variable) => /(PASSWORD|TOKEN|SECRET|URI)$/.test(variable))).toEqual([]);
  });

  it('passes secrets as files, each to the services that read it', () => {
    for (const [name, { environment = {}, secrets: own }] of Object.entries<Service>(services)) {
      const files = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'));
      expect(own ?? [], name).toEqual(expect.arrayContaining(files.map((path) => basename(path))));
    }
    const used = new Set(Object.values<Service>(services).flatMap(({ secrets: own = [] }) => own));
    expect([...used].sort()).toEqual(Object.keys(secrets).sort());
    for (const [name, { file: source }] of Object.entries<{ file: string }>(secrets))
      expect(source).toMatch(new RegExp(`^\\$\\{FLEET_SECRETS:.*\\}/${name}$`));
  });

  it('names images by variables, so that they can be pinned to digests', () => {
    for (const [name, { image }] of Object.entries<Service>(services))
      expect(image ?? '${BUILT:-here}', name).toMatch(/^\$\{\w+:-.+\}$/);
  });
});

it('docs/deployment.md says what holdfast.service must allow for a clone with core.sharedRepository', async () => {
  const unit = await readFile(join(EXAMPLES, 'holdfast.service'), 'utf8');
  // It denies what git does in such a clone: it sets the setgid bit of new folders.
  expect(unit).toMatch(/^RestrictSUIDSGID=yes$/m);
  const paragraphs = (await readFile(join(PROJECT, 'docs/deployment.md'), 'utf8')).split('\n\n');
  const sharing = paragraphs.filter((text) => text.includes('core.sharedRepository'));
  expect(sharing.length).toBeGreaterThan(0);
  for (const text of sharing) expect(text).toContain('`RestrictSUIDSGID=no`');
});

it('prometheus-rules.yaml uses metrics that the manager has', async () => {
  const { groups } = await readYaml('prometheus-rules.yaml');
  const rules: { alert: string; expr: string; annotations: { summary: string } }[] = groups[0].rules;
  const { text } = await createMetrics(noDevices).render();
  const metrics = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  for (const { alert, expr, annotations } of rules) {
    const names = expr.match(/\b(holdfast|process)_\w+/g) ?? [];
    if (alert !== 'HoldfastDown') expect(names.length, alert).toBeGreaterThan(0);
    for (const name of names) expect(metrics, alert).toContain(name);
    expect(annotations.summary).not.toBe('');
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

it('grafana-fleet.json asks only for metrics that the manager has', async () => {
  const { panels, templating } = JSON.parse(await readFile(join(EXAMPLES, 'grafana-fleet.json'), 'utf8'));
  const ofPanels: string[] = panels.flatMap((panel: { targets: { expr: string }[] }) =>
    panel.targets.map(({ expr }) => expr),
  );
  const ofVariables: string[] = templating.list
    .filter(({ type }: { type: string }) => type === 'query')
    .map(({ query }: { query: { query: string } }) => query.query);
  const { text } = await createMetrics(noDevices).render();
  const metrics = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  expect(ofPanels.length).toBeGreaterThanOrEqual(panels.length);
  for (const query of [...ofPanels, ...ofVariables]) {
    const names = query.match(/\b[a-z]+_\w+(?=\{|\[|,)/g)?.filter((name) => !name.startsWith('label_')) ?? [];
    expect(names.length, query).toBeGreaterThan(0);
    for (const name of names) expect(metrics, query).toContain(name);
  }
});

const HAS_PROMTOOL = foundOrRequired('promtool', works('promtool', ['--version']));

it.skipIf(!HAS_PROMTOOL)('the alerts of prometheus-rules.yaml fire and stop as in alerts.yaml', async () => {
  await execute('promtool', ['test', 'rules', join(import.meta.dirname, 'alerts.yaml')]);
});

/** Copies a file or a folder as `COPY` does, but links `node_modules`. */
async function copy(from: string, name: string, to: string): Promise<void> {
  if (name === 'node_modules') await symlink(join(PROJECT, name), to);
  else await cp(join(from, name), to, { recursive: true });
}

describe('Dockerfile', async () => {
  const text = await readFile(join(EXAMPLES, 'Dockerfile'), 'utf8');
  const copies = [...text.matchAll(/^COPY (?!--from)(.*)$/gm)].flatMap(([, line = '']) => {
    const [target = '', ...names] = line.split(' ').reverse();
    return names.map((name) => ({ name, target: target === './' ? name : target }));
  });

  it('copies all that the build needs, and the program that is built runs', async () => {
    const built = await temporaryFolder();
    for (const { name, target } of copies) await copy(PROJECT, name, join(built, target));
    await copy(PROJECT, 'node_modules', join(built, 'node_modules'));
    await execute('npm', ['run', '--silent', 'build'], { cwd: built });
    const kept = [...text.matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map(([, name = '']) => name);
    expect(kept).toEqual(expect.arrayContaining(['package.json', 'node_modules', 'dist']));
    const image = await temporaryFolder();
    for (const name of kept) await copy(built, name, join(image, name));
    const [, command = '[]'] = /^CMD (.*)$/m.exec(text) ?? [];
    const [file, ...args]: string[] = JSON.parse(command);
    expect([file, args.at(-1)]).toEqual(['node', 'serve']);
    const { stdout } = await execute(process.execPath, [...args.slice(0, -1), '--version'], { cwd: image });
    const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
    expect(stdout).toBe(`${version}\n`);
  });

  it('gets the files that it copies, and no others, from .dockerignore', async () => {
    const lines = (await readFile(join(PROJECT, '.dockerignore'), 'utf8')).split('\n');
    const rules = lines.filter((line) => line !== '' && !line.startsWith('#'));
    expect(rules[0]).toBe('*');
    const worker = await readFile(join(EXAMPLES, 'worker.Dockerfile'), 'utf8');
    const [, ofWorker = ''] = /^COPY (\S+) /m.exec(worker) ?? [];
    const copied = [ofWorker, ...copies.map(({ name }) => name.replace('./', ''))];
    expect(rules.slice(1).sort()).toEqual(copied.map((name) => `!${name}`).sort());
  });

  it('runs no scripts of dependencies, and names its base by an argument, so that it can be pinned', () => {
    const commands = text.match(/\bnpm (ci|prune)\b[^&\n]*/g) ?? [];
    expect(commands).toHaveLength(2);
    for (const command of commands) expect(command).toContain('--ignore-scripts');
    expect(text.match(/^FROM \S+/gm)).toEqual(['FROM ${NODE}', 'FROM ${NODE}']);
  });

  it('sets only variables that are settings', () => {
    const names = [...text.matchAll(/^ENV (.*)$/gm)]
      .flatMap(([, line = '']) => line.split(' '))
      .map((pair) => pair.split('=')[0] ?? '');
    expect(names).toContain('DATA_DIR');
    expect(unknownSettings(names)).toEqual([]);
  });
});

/** A mount of a Compose service: `SOURCE:TARGET`, or an object. */
type Mount = string | { source: string; target: string; read_only?: boolean; bind?: object };

function targetOf(mount: Mount): string | undefined {
  return typeof mount === 'string' ? mount.replace(/:ro$/, '').split(':').at(-1) : mount.target;
}

it.each(['compose.yaml', 'compose-many.yaml'])(
  '%s refuses a mistyped folder of the host, which would otherwise be created, empty and owned by root',
  async (file) => {
    const { services } = await readYaml(file);
    const mounts: Mount[] = Object.values<{ volumes?: Mount[] }>(services).flatMap(
      ({ volumes = [] }) => volumes,
    );
    const ofHost = mounts.filter((mount) => /\$\{FLEET_/.test(JSON.stringify(mount)));
    expect(ofHost.length).toBeGreaterThan(0);
    for (const mount of ofHost)
      expect(mount).toMatchObject({ type: 'bind', bind: { create_host_path: false } });
  },
);

describe('DATA_DIR of the Dockerfile', async () => {
  const text = await readFile(join(EXAMPLES, 'Dockerfile'), 'utf8');
  const [, folder = ''] = /^ENV .*\bDATA_DIR=(\S+)/m.exec(text) ?? [];

  it('is created in the image for its user alone, since a new volume takes over owner and mode', () => {
    const [made = '', , user = ''] = /^RUN install -d (.*)\n(USER (\S+))$/m.exec(text)?.slice(1) ?? [];
    expect(made).toBe(`-o ${user} -g ${user} -m 700 ${folder}`);
  });

  it.each([
    ['compose.yaml', 1],
    ['compose-many.yaml', 3],
  ])('is a volume for each manager of %s', async (file, count) => {
    const { services, volumes } = await readYaml(file);
    const names = Object.keys(services).filter((name) => name.startsWith('manager'));
    const mounts = names.map((name) =>
      services[name].volumes.filter((mount: Mount) => targetOf(mount) === folder),
    );
    const used = new Set(mounts.flat().map((mount: string) => mount.split(':')[0]));
    expect([mounts.map(({ length }) => length), used.size]).toEqual([Array(count).fill(1), count]);
    expect(Object.keys(volumes)).toEqual(expect.arrayContaining([...used]));
  });
});

describe('compose-many.yaml and git-server.Dockerfile', async () => {
  const { services, volumes, networks, secrets } = await readYaml('compose-many.yaml');
  const { environment } = services['manager-1'];
  const remote = new URL(environment.GIT_REMOTE);
  const git = services[remote.hostname];
  const text = await readFile(join(EXAMPLES, git.build.dockerfile), 'utf8');

  it('refer to services, volumes and keys that exist', () => {
    const managers = Object.keys(services).filter((name) => name.startsWith('manager'));
    expect(managers).toHaveLength(3);
    for (const name of managers) {
      expect(services[name].environment).toEqual(environment);
      expect(services.caddy.environment.MANAGERS).toContain(`${name}:8080`);
    }
    const targets = (of: Mount[]) => of.map(targetOf);
    for (const name of managers) {
      const mounts = targets(services[name].volumes);
      expect(mounts).toEqual(expect.arrayContaining([environment.GIT_SSH_KEY, environment.GIT_KNOWN_HOSTS]));
    }
    expect(targets(git.volumes)).toEqual([remote.pathname, '/keys/host', '/keys/authorized_keys']);
    expect(Object.keys(volumes)).toContain('fleet');
    const options: string[] = JSON.parse(/^CMD (.*)$/m.exec(text)?.[1] ?? '[]');
    expect(options).toEqual(expect.arrayContaining(['HostKey=/keys/host', `AllowUsers=${remote.username}`]));
    expect(options).toContain('AuthorizedKeysFile=/keys/authorized_keys');
  });

  it('let only the managers reach MongoDB, which asks all clients to sign in', () => {
    const inside = Object.entries<Service>(services).filter(([, one]) => one.networks?.includes('mongo'));
    expect(inside.map(([name]) => name.replace(/-\d$/, ''))).toEqual([
      ...Array(3).fill('manager'),
      ...Array(3).fill('mongo'),
      'mongo-init',
    ]);
    expect(networks.mongo).toEqual({ internal: true });
    for (const [name, service] of inside.filter(([one]) => /^mongo-\d$/.test(one))) {
      expect(services[name].command, name).toContain('--keyFile');
      expect(service.networks, name).toEqual(['mongo']);
    }
  });

  it('get the keys that they mount from the commands of the comment, whatever the umask', async () => {
    const comment = await readFile(join(EXAMPLES, 'compose-many.yaml'), 'utf8');
    const commands = [...comment.matchAll(/^# {3}((?:mkdir|ssh-keygen|echo|cat|chmod|\(umask) .*)$/gm)].map(
      ([, line]) => line,
    );
    const HOME = await temporaryFolder();
    await mkdir(join(HOME, '.ssh'));
    await writeFile(join(HOME, '.ssh/person.pub'), 'key of a person\n');
    const keygen = '#!/bin/sh\nfor file; do :; done\necho "key $file" | tee "$file" > "$file.pub"\n';
    await writeFile(join(HOME, 'ssh-keygen'), keygen, { mode: 0o755 });
    await writeFile(join(HOME, 'openssl'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const env = { PATH: `${HOME}:${process.env['PATH']}`, HOME };
    await execute('sh', ['-euc', ['umask 077', ...commands].join('\n')], { cwd: HOME, env });
    const mounts: Mount[] = [...services['manager-1'].volumes, ...git.volumes];
    const keys = mounts.flatMap((mount) => (typeof mount === 'string' ? [] : basename(mount.source)));
    expect(await readdir(join(HOME, 'keys'))).toEqual(expect.arrayContaining(keys));
    expect((await readdir(join(HOME, 'secrets'))).sort()).toEqual(Object.keys(secrets).sort());
    const uri = await readFile(join(HOME, 'secrets/mongodb-uri'), 'utf8');
    expect(Object.keys(services)).toContain(new URL(uri.replace(/,[^/]*/, '')).hostname);
    expect((await stat(join(HOME, 'secrets/mongo-password'))).mode & 0o077).toBe(0);
    const authorized = join(HOME, 'keys/authorized_keys');
    expect(await readFile(authorized, 'utf8')).toBe('key keys/manager\nkey of a person\n');
    // The server reads it as the user `git`, and the key of a manager must be closed to others.
    expect((await stat(authorized)).mode & 0o004).toBe(0o004);
    expect((await stat(join(HOME, 'keys/manager'))).mode & 0o077).toBe(0);
  });

  it('create a repository that accepts the push of a first branch', async () => {
    const folder = await temporaryFolder();
    const lines = text.replaceAll('\\\n', '').match(/^RUN git init.*$/gm) ?? [];
    expect(lines).toHaveLength(1);
    const script =
      lines[0]
        ?.slice('RUN '.length)
        .replaceAll('/srv', folder)
        .replace(/&& chown .*/, '') ?? '';
    await execute('sh', ['-euc', script]);
    const user = await pullRequest();
    const url = join(folder, remote.pathname.replace('/srv/', ''));
    await user.git('push', '--quiet', url, `main:refs/heads/${environment.GIT_BRANCH}`);
    expect(await user.git('ls-remote', '--symref', url, 'HEAD')).toContain('ref: refs/heads/main');
  });
});
