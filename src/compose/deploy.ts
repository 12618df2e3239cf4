import type { AppBuilder } from './builder.ts';
import type { MapTree, Tree } from './tree.ts';
import { bytesOf, sizeText } from './units.ts';
import { noteOthers, numberOf, textOf, valueAt } from './values.ts';

const ADVICE = {
  update_config: 'has no counterpart; `rolling_restart: true` replaces containers one after another',
  rollback_config:
    'has no counterpart: a device goes back by itself to the version before if a new one fails',
  placement: 'has no counterpart: put the app into the device groups whose devices should run it',
  endpoint_mode: 'has no counterpart',
  labels: 'has no counterpart: these are labels of a service of Swarm; write `labels` for the container',
};
const LIMIT_ADVICE = {
  pids: 'has no counterpart; set a limit for all containers in the engine of the device',
};
const RESOURCE_ADVICE = {
  reservations:
    'has no counterpart: devices run what their group lists; for a GPU, set the default runtime of its engine',
};
const RESTART_ADVICE = {
  delay: 'has no counterpart: the engine waits longer after each restart',
  window: 'has no counterpart',
};

/** Reads `deploy`: `replicas`, `resources.limits` and `restart_policy`. */
export function readDeploy(tree: Tree, builder: AppBuilder): void {
  if (tree.type !== 'map') {
    builder.refuse('deploy', tree, 'must be a map');
    return;
  }
  noteOthers(tree, 'deploy', builder, ['mode', 'replicas', 'resources', 'restart_policy'], ADVICE);
  const [replicas, resources] = [valueAt(tree, 'replicas'), valueAt(tree, 'resources')];
  if (replicas !== undefined) readScale('deploy.replicas', replicas, builder);
  const policy = valueAt(tree, 'restart_policy');
  if (policy?.type === 'map') readRestartPolicy(policy, builder);
  if (resources?.type !== 'map') return;
  noteOthers(resources, 'deploy.resources', builder, ['limits'], RESOURCE_ADVICE);
  const limits = valueAt(resources, 'limits');
  if (limits?.type !== 'map') return;
  noteOthers(limits, 'deploy.resources.limits', builder, ['cpus', 'memory'], LIMIT_ADVICE);
  const [cpus, memory] = [valueAt(limits, 'cpus'), valueAt(limits, 'memory')];
  if (cpus !== undefined) readCpus('deploy.resources.limits.cpus', cpus, builder);
  if (memory !== undefined) readSize('memory', 'deploy.resources.limits.memory', memory, builder);
}

/** Reads how many containers there are on each device. */
export function readScale(key: string, tree: Tree, builder: AppBuilder): void {
  const number = numberOf(tree, key, builder);
  if (number === undefined) return;
  if (number > 0) {
    builder.set('containers_per', { server: number }, tree);
    return;
  }
  builder.set('running', false, tree);
  builder.check(key, tree, 'is 0, so the app has `running: false`');
}

/** Reads a number of processors; 0 is no limit. */
export function readCpus(key: string, tree: Tree, builder: AppBuilder): void {
  const cpus = numberOf(tree, key, builder);
  if (cpus !== undefined && cpus !== 0) builder.set('cpus', cpus, tree);
}

/** Reads a size in bytes; 0 is no limit. */
export function readSize(field: 'memory' | 'shm_size', key: string, tree: Tree, builder: AppBuilder): void {
  const bytes = bytesOf(textOf(tree, key, builder) ?? '');
  if (bytes === undefined) {
    builder.refuse(key, tree, 'must be a size such as 512m or 1g');
    return;
  }
  if (bytes > 0) builder.set(field, sizeText(bytes), tree);
}

const CONDITIONS: Readonly<Record<string, string>> = {
  none: 'no',
  'on-failure': 'on-failure',
  any: 'unless-stopped',
};

function readRestartPolicy(policy: MapTree, builder: AppBuilder): void {
  const key = 'deploy.restart_policy';
  noteOthers(policy, key, builder, ['condition', 'max_attempts'], RESTART_ADVICE);
  const [condition, attempts] = [valueAt(policy, 'condition'), valueAt(policy, 'max_attempts')];
  const restart = CONDITIONS[condition === undefined ? 'any' : (textOf(condition, key, builder) ?? '')];
  if (restart === undefined) {
    builder.refuse(key, policy, 'has a condition other than none, on-failure and any');
    return;
  }
  const most = attempts === undefined ? undefined : numberOf(attempts, `${key}.max_attempts`, builder);
  builder.set(
    'restart',
    // No limit is 0 for engines, and no number here.
    restart === 'on-failure' && most !== undefined && most !== 0 ? `${restart}:${most}` : restart,
    policy,
  );
}

/** Reads `restart`. `always` means the same as `unless-stopped` on a device. */
export function readRestart(tree: Tree, builder: AppBuilder): void {
  const text = tree.type === 'scalar' && tree.value === false ? 'no' : textOf(tree, 'restart', builder);
  // No limit is 0 for engines, and no number here.
  if (text !== undefined) builder.set('restart', text.replace(/^on-failure:0$/, 'on-failure'), tree);
}

/** Reads `pull_policy`. */
export function readPullPolicy(tree: Tree, builder: AppBuilder): void {
  const policy = textOf(tree, 'pull_policy', builder);
  if (policy === 'always') return;
  if (policy === 'missing' || policy === 'if_not_present') {
    builder.set('pull_policy', 'missing', tree);
    return;
  }
  builder.leaveOut(
    'pull_policy',
    tree,
    'has no counterpart: devices pull for each change, or with `missing` only once',
  );
}
