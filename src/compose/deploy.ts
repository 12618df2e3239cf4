import type { AppBuilder } from './builder.ts';
import type { Service } from './project.ts';
import { bytesOf, sizeText } from './units.ts';

type Deploy = NonNullable<Service['deploy']>;

const ADVICE = {
  update_config: 'has no counterpart; `rolling_restart: true` replaces containers one after another',
  rollback_config:
    'has no counterpart: a device goes back by itself to the version before if a new one fails',
  placement: 'has no counterpart: put the app into the device groups whose devices should run it',
  labels: 'has no counterpart: these are labels of a service of Swarm; write `labels` for the container',
};
const LIMIT_ADVICE = {
  pids: 'has no counterpart; set a limit for all containers in the engine of the device',
};
const RESOURCE_ADVICE = {
  reservations:
    'has no counterpart: devices run what their group lists; for a GPU, set the default runtime of its engine',
};
const RESTART_ADVICE = { delay: 'has no counterpart: the engine waits longer after each restart' };

/** Reads `deploy`: `replicas`, `resources.limits` and `restart_policy`. */
export function readDeploy(deploy: Deploy, builder: AppBuilder): void {
  const { replicas, resources = {}, restart_policy: policy } = deploy;
  builder.leaveOthersOut(deploy, 'deploy', ['mode', 'replicas', 'resources', 'restart_policy'], ADVICE);
  if (replicas !== undefined) readScale('deploy.replicas', replicas, builder);
  if (policy !== undefined) readRestartPolicy(policy, builder);
  builder.leaveOthersOut(resources, 'deploy.resources', ['limits'], RESOURCE_ADVICE);
  const { limits = {} } = resources;
  builder.leaveOthersOut(limits, 'deploy.resources.limits', ['cpus', 'memory'], LIMIT_ADVICE);
  if (limits.cpus !== undefined) readCpus(limits.cpus, builder);
  if (limits.memory !== undefined) readSize('memory', limits.memory, builder);
}

/** Reads how many containers there are on each device. */
export function readScale(key: string, number: number, builder: AppBuilder): void {
  if (number > 0) {
    builder.set('containers_per', { server: number }, key);
    return;
  }
  builder.set('running', false);
  builder.check(key, 'is 0, so the app has `running: false`');
}

/** Reads a number of processors; 0 is no limit. */
export function readCpus(cpus: string | number, builder: AppBuilder): void {
  if (Number(cpus) !== 0) builder.set('cpus', Number(cpus));
}

/** Reads a size in bytes; 0 is no limit. */
export function readSize(field: 'memory' | 'shm_size', text: string, builder: AppBuilder): void {
  const bytes = bytesOf(text) ?? 0;
  if (bytes > 0) builder.set(field, sizeText(bytes), field === 'memory' ? 'mem_limit' : field);
}

const CONDITIONS: Readonly<Record<string, string>> = {
  none: 'no',
  'on-failure': 'on-failure',
  any: 'unless-stopped',
};

function readRestartPolicy(policy: NonNullable<Deploy['restart_policy']>, builder: AppBuilder): void {
  const key = 'deploy.restart_policy';
  builder.leaveOthersOut(policy, key, ['condition', 'max_attempts'], RESTART_ADVICE);
  const { condition = 'any', max_attempts: most = 0 } = policy;
  const restart = CONDITIONS[condition];
  if (restart === undefined) builder.refuse(key, 'has a condition other than none, on-failure and any');
  // No limit is 0 for engines, and no number here.
  else builder.set('restart', restart === 'on-failure' && most !== 0 ? `${restart}:${most}` : restart, key);
}

/** Reads `pull_policy`. */
export function readPullPolicy(policy: string, builder: AppBuilder): void {
  if (policy === 'always') return;
  if (policy === 'missing') builder.set('pull_policy', 'missing');
  else
    builder.leaveOut(
      'pull_policy',
      'has no counterpart: devices pull for each change, or with `missing` only once',
    );
}
