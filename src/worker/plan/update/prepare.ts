import { containerName, labelsFor } from '../labels.ts';
import type { Actual, Container, Foreign, Obstacle, Rules, Step } from '../model.ts';
import { isAlwaysThere } from '../networks.ts';
import { type Next, saying } from '../next.ts';
import { afterFailure, isDue, problemOf, without } from '../session.ts';
import { type AppView, isOfVersion, type Slot } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import type { World } from '../world.ts';
import { discardStep } from './steps.ts';

/** How often a pull fails before the image that is there is used instead. */
const PULLS_BEFORE_STALE = 3;

/** Returns the numbers of the slots that do not have their container yet. */
export function pendingSlots({ slots }: AppView, version: Version): number[] {
  const all = Array.from({ length: version.count }, (_, index) => index + 1);
  return all.filter((slot) => !isOfVersion(slots.get(slot)?.current, version));
}

/**
 * Stages a version: pulls its image and creates its containers, before anything that runs is touched. Null if all is ready.
 */
export function prepare(view: AppView, version: Version, world: World): Next | null {
  const pending = pendingSlots(view, version);
  if (pending.length === 0) return null;
  const { blind } = world.actual;
  if (blind !== null) return blocked(view, { code: 'engine-unavailable', text: blind });
  const image = stagedImage(view, version, world.actual);
  if (image === null) return stageImage(view, version, world);
  const missing = pending.filter((slot) => !isReady(view.slots.get(slot), version, image));
  return missing.length === 0 ? null : createNext(view, version, image, missing, world);
}

/** Whether the container that is to take over a slot has been created from the staged image. */
function isReady(slot: Slot | undefined, version: Version, image: string): boolean {
  return isNext(slot?.next, version) && slot?.next?.imageId === image;
}

function isNext(next: Container | undefined, version: Version): boolean {
  if (next === undefined || next.appId !== version.id) return false;
  return next.state === 'created' && next.source === version.source && version.content === next.content;
}

/** Returns the id of the image to make containers from, if it is on this machine; null if it has to be pulled. */
export function stagedImage(view: AppView, version: Version, { images }: Actual): string | null {
  const { good, staged } = view.memory;
  const keepsImage = version.change === 'steady' || version.change === 'scale';
  const made = view.containers.filter(
    (container) =>
      container.source === version.source &&
      version.content === container.content &&
      (keepsImage ? container.role === 'current' : container.appId === version.id),
  );
  const known = [
    staged?.id === version.id ? staged.imageId : null,
    keepsImage ? (good?.imageId ?? null) : null,
    ...made.filter(({ role }) => role === 'current' || role === 'next').map(({ imageId }) => imageId),
  ];
  return known.find((id) => id !== null && images.ids.has(id)) ?? null;
}

function stageImage(view: AppView, version: Version, world: World): Next {
  const { record, change } = version;
  const reference = record.container_image;
  const local = world.actual.images.byReference.get(reference);
  const isEnough = reference.includes('@') || (record.pull_policy === 'missing' && change !== 'restart');
  if (local !== undefined && isEnough) return withImage(view, version, local);
  const problem = problemOf(view.troubles.pull, version.id);
  if (world.pulling.has(view.name)) return { view, steps: [], ...saying('pulling', problem) };
  const waiting = spread(view, version, world);
  if (waiting !== null) return { view: waiting, steps: [], ...saying('waiting') };
  const { pull } = view.troubles;
  if (local !== undefined && pull?.id === version.id && pull.attempts >= PULLS_BEFORE_STALE) {
    const stale = { id: version.id, text: pull.text, since: world.wallTime };
    return withImage({ ...view, stale }, version, local);
  }
  if (world.disk.lack !== null) {
    const text = `${world.disk.lack}; the image is pulled once there is room`;
    return blocked(view, { code: 'disk-pressure', text });
  }
  if (!isDue(pull, version.id, world.now)) return blocked(view, problem);
  const step: Step = { do: 'pull', app: view.name, id: version.id, image: reference };
  return { view, steps: [step], ...saying('pulling', problem) };
}

function withImage(view: AppView, { id }: Version, imageId: string): Next {
  const memory = { ...view.memory, staged: { id, imageId } };
  const troubles = without(view.troubles, 'pull');
  return { view: { ...view, memory, troubles }, steps: [], ...saying('updating') };
}

/** Spreads the pulls of a fleet over UPDATE_SPREAD. Null if the app has waited. */
function spread(view: AppView, { id, change }: Version, { now, random, rules }: World): AppView | null {
  const { wait } = view;
  if (rules.updateSpread === 0 || change === 'steady') return null;
  if (wait?.id === id) return wait.until > now ? view : null;
  return { ...view, wait: { id, until: now + random * rules.updateSpread } };
}

function createNext(
  view: AppView,
  version: Version,
  imageId: string,
  slots: readonly number[],
  world: World,
): Next {
  const wrong = slots.flatMap((slot) => view.slots.get(slot)?.next ?? []);
  if (wrong.length > 0) return discardWrong(view, version, imageId, wrong, world);
  const obstacle = obstacleFor(view, version, slots, world);
  if (obstacle !== null) return blocked(view, obstacle);
  const problem = problemOf(view.troubles.create, version.id);
  if (!isDue(view.troubles.create, version.id, world.now)) return blocked(view, problem);
  const steps = slots.map((slot) => createStep(view.name, slot, version, imageId, world.rules));
  return { view, steps, ...saying('updating', problem) };
}

/**
 * Removes containers that cannot take over. If the engine says of one that was just made for the version that it is of another
 * image, that is tried again with growing delays, which are those of the pull: that a container is created ends those of its
 * creation.
 */
function discardWrong(
  view: AppView,
  version: Version,
  imageId: string,
  wrong: readonly Container[],
  world: World,
): Next {
  const steps = wrong.map((next) => discardStep(next, world.rules));
  const odd = wrong.find((one) => isNext(one, version) && one.imageId !== imageId);
  if (odd === undefined) return { view, steps, ...saying('updating') };
  const text = `the engine says that ${odd.name} is of the image ${odd.imageId}, though it was created from ${imageId}`;
  const problem: Obstacle = { code: 'create-failed', text };
  if (!isDue(view.troubles.pull, version.id, world.now)) return blocked(view, problem);
  const troubles = afterFailure(view.troubles, 'pull', { ...problem, id: version.id }, world);
  return { view: { ...view, troubles }, steps, ...saying('updating') };
}

/** Returns the step that creates the container which is to take over a slot. */
export function createStep(
  app: string,
  slot: number,
  version: Pick<Version, 'id' | 'content' | 'count' | 'source' | 'record'>,
  imageId: string,
  { prefix, worker }: Rules,
): Step {
  const { record, source } = version;
  const labels = labelsFor({ ...version, name: app }, { slot, source, worker });
  return { do: 'create', app, slot, name: containerName(prefix, app, slot, 'next'), imageId, record, labels };
}

/** Returns what an engine would only say once the old container has stopped. */
function obstacleFor(
  view: AppView,
  { record }: Version,
  slots: readonly number[],
  { actual, rules, disk }: World,
): Obstacle | null {
  const network = record.networks.find((name) => !isAlwaysThere(name) && !actual.networks.includes(name));
  if (network !== undefined)
    return { code: 'network-missing', text: `there is no network "${network}" on this device` };
  const names = slots
    .filter((slot) => view.slots.get(slot)?.current === undefined)
    .map((slot) => containerName(rules.prefix, view.name, slot, 'current'));
  const taken = actual.foreign.find(({ name }) => names.includes(name));
  if (taken !== undefined) return nameTaken(taken);
  return disk.hasRoomToSwap ? null : { code: 'disk-pressure', text: 'the disk is full' };
}

export function nameTaken({ name }: Foreign): Obstacle {
  return { code: 'name-taken', text: `a container that is not Holdfast's has the name ${name}` };
}

/** Returns what is said of an app that cannot be brought to its version now. */
function blocked(view: AppView, obstacle: Obstacle | null): Next {
  return { view, steps: [], ...saying(stateWithout(view), obstacle) };
}

/** Returns the state of an app that cannot be brought to its version: whether something runs meanwhile. */
export function stateWithout({ containers }: AppView): 'kept' | 'failing' {
  return containers.some(({ state }) => state === 'running') ? 'kept' : 'failing';
}
