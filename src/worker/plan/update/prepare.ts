import type { Draft } from '../draft.ts';
import { containerName, labelsFor } from '../labels.ts';
import type { Actual, Container, Foreign, Obstacle, Rules, Step } from '../model.ts';
import type { Lane } from '../session.ts';
import { type AppView, isOfVersion, type Slot } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import { discardStep } from './steps.ts';

/** Networks that every engine has, or that the worker makes. */
const OWN_NETWORKS = new Set(['nebula', 'bridge', 'host', 'none']);

/** How often a pull fails before the image that is there is used instead. */
const PULLS_BEFORE_STALE = 3;

/** Returns the numbers of the slots that do not have their container yet. */
export function pendingSlots({ slots }: AppView, version: Version): number[] {
  const all = Array.from({ length: version.count }, (_, index) => index + 1);
  return all.filter((slot) => !isOfVersion(slots.get(slot)?.current, version));
}

/**
 * Stages a version: pulls its image and creates its containers, before anything that runs is touched. Returns whether all
 * is ready; otherwise the draft has the next steps, or the obstacle.
 */
export function prepare(view: AppView, version: Version, draft: Draft): boolean {
  const pending = pendingSlots(view, version);
  if (pending.length === 0) return true;
  const { blind } = draft.world.actual;
  if (blind !== null) {
    draft.setPhase(view.name, stateWithout(view), { code: 'engine-unavailable', text: blind });
    return false;
  }
  const image = stagedImage(view, version, draft.world.actual);
  if (image === null) {
    stageImage(view, version, draft);
    return false;
  }
  const missing = pending.filter((slot) => !isReady(view.slots.get(slot), version, image));
  if (missing.length === 0) return true;
  createNext(view, version, image, missing, draft);
  return false;
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

function stageImage(view: AppView, version: Version, draft: Draft): void {
  const { name } = view;
  const { world } = draft;
  const { record, change } = version;
  const reference = record.container_image;
  const local = world.actual.images.byReference.get(reference);
  const isEnough = reference.includes('@') || (record.pull_policy === 'missing' && change !== 'restart');
  if (local !== undefined && isEnough) {
    stageLocal(local);
    return;
  }
  if (world.pulling.has(name)) {
    draft.setPhase(name, 'pulling', problemOf(draft, name, 'pull', version.id));
    return;
  }
  if (hasToWait(view, version, draft)) {
    draft.setPhase(name, 'waiting');
    return;
  }
  const trouble = draft.trouble(name, 'pull');
  const hasTried = trouble?.id === version.id ? trouble.attempts : 0;
  if (local !== undefined && hasTried >= PULLS_BEFORE_STALE) {
    draft.useStale(name, version.id, trouble?.text ?? '');
    stageLocal(local);
    return;
  }
  if (world.disk.lack !== null) {
    const text = `${world.disk.lack}; the image is pulled once there is room`;
    draft.setPhase(name, stateWithout(view), { code: 'disk-pressure', text });
    return;
  }
  if (!draft.isDue(name, 'pull', version.id)) {
    draft.setPhase(name, stateWithout(view), problemOf(draft, name, 'pull', version.id));
    return;
  }
  draft.steps.push({ do: 'pull', app: name, id: version.id, image: reference });
  draft.setPhase(name, 'pulling', problemOf(draft, name, 'pull', version.id));

  function stageLocal(imageId: string): void {
    draft.remember(name, { staged: { id: version.id, imageId } });
    draft.clear(name, 'pull');
    draft.setPhase(name, 'updating');
  }
}

/** Spreads the pulls of a fleet over UPDATE_SPREAD. */
function hasToWait({ name }: AppView, { id, change }: Version, draft: Draft): boolean {
  const { now, random, rules, session } = draft.world;
  if (rules.updateSpread === 0 || change === 'steady') return false;
  const wait = session.waits[name];
  if (wait?.id === id) return wait.until > now;
  draft.wait(name, id, now + random * rules.updateSpread);
  return true;
}

function createNext(
  view: AppView,
  version: Version,
  imageId: string,
  slots: readonly number[],
  draft: Draft,
): void {
  const { name } = view;
  const wrong = slots.flatMap((slot) => view.slots.get(slot)?.next ?? []);
  if (wrong.length > 0) {
    if (isMadeFromAnother(wrong, version, imageId, draft)) return;
    draft.steps.push(...wrong.map((next) => discardStep(next, draft)));
    draft.setPhase(name, 'updating');
    return;
  }
  const obstacle = obstacleFor(view, version, slots, draft);
  if (obstacle !== null) {
    draft.setPhase(name, stateWithout(view), obstacle);
    return;
  }
  if (!draft.isDue(name, 'create', version.id)) {
    draft.setPhase(name, stateWithout(view), problemOf(draft, name, 'create', version.id));
    return;
  }
  for (const slot of slots) draft.steps.push(createStep(name, slot, version, imageId, draft.world.rules));
  draft.setPhase(name, 'updating', problemOf(draft, name, 'create', version.id));
}

/**
 * Whether the engine says that containers which were just made for a version are of another image. It is tried again, with
 * growing delays, which are those of the pull: that a container is created ends those of its creation.
 */
function isMadeFromAnother(
  next: readonly Container[],
  version: Version,
  imageId: string,
  draft: Draft,
): boolean {
  const odd = next.find((one) => isNext(one, version) && one.imageId !== imageId);
  if (odd === undefined) return false;
  const { app, name } = odd;
  const isDue = draft.isDue(app, 'pull', version.id);
  const text = `the engine says that ${name} is of the image ${odd.imageId}, though it was created from ${imageId}`;
  if (isDue) draft.note(app, 'pull', { code: 'create-failed', text, id: version.id });
  draft.setPhase(
    app,
    stateWithout({ containers: draft.world.actual.containers.filter((one) => one.app === app) }),
    {
      code: 'create-failed',
      text,
    },
  );
  return !isDue;
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
  { world: { actual, rules, disk } }: Draft,
): Obstacle | null {
  const network = record.networks.find((name) => !OWN_NETWORKS.has(name) && !actual.networks.includes(name));
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

/** Returns what a lane last failed with for an id; null if it has not. */
export function problemOf(draft: Draft, app: string, lane: Lane, id: number): Obstacle | null {
  const trouble = draft.trouble(app, lane);
  return trouble?.id !== id ? null : { code: trouble.code, text: trouble.text };
}

/** Returns the state of an app that cannot be brought to its version: whether something runs meanwhile. */
export function stateWithout({ containers }: Pick<AppView, 'containers'>): 'kept' | 'failing' {
  return containers.some(({ state }) => state === 'running') ? 'kept' : 'failing';
}
