import { messageOf } from '../../errors.ts';
import type { TroubleCode } from '../../protocol/report.ts';
import { type Engine, EngineError, type EngineErrorCode } from '../engine/engine.ts';
import type { StepResult } from '../plan/learn.ts';
import type { Step } from '../plan/model.ts';
import { networksOf } from '../plan/networks.ts';

/** Carries out a step. Never rejects: that a step fails is something to learn from. */
export async function execute(engine: Engine, step: Step, signal: AbortSignal): Promise<StepResult> {
  try {
    const imageId = await act(engine, step, signal);
    return imageId === null ? { ok: true, step } : { ok: true, step, imageId };
  } catch (error) {
    const engineCode = error instanceof EngineError ? error.code : null;
    const isOutage = engineCode === 'unavailable';
    const isStuck = engineCode === 'stuck';
    return { ok: false, step, code: codeOf(error, step), text: messageOf(error), isOutage, isStuck };
  }
}

async function act(engine: Engine, step: Step, signal: AbortSignal): Promise<string | null> {
  switch (step.do) {
    case 'pull':
      return (await engine.pull(step.image, signal)).id;
    case 'create':
      await create(engine, step);
      return null;
    case 'stop':
      await engine.stop(step.container, step.grace);
      return null;
    case 'rename':
      await engine.rename(step.container, step.to);
      return null;
    case 'start':
      await engine.start(step.container);
      return null;
    case 'restart':
      await engine.restart(step.container, step.grace);
      return null;
    case 'remove':
      await engine.remove(step.container);
      return null;
  }
}

/**
 * Creates by the reference if it still stands for the staged image, so that `docker ps` shows it; by the image id if the
 * tag has moved on since.
 */
async function create(engine: Engine, step: Extract<Step, { do: 'create' }>): Promise<void> {
  const { name, record, slot, labels, imageId } = step;
  const current = await engine.image(record.container_image);
  const image = current?.id === imageId ? record.container_image : imageId;
  const networks = networksOf(record);
  await engine.create({ name, image, record, slot, labels, networks });
}

const CODES: Readonly<Record<EngineErrorCode, TroubleCode | null>> = {
  unavailable: 'engine-unavailable',
  timeout: 'engine-unavailable',
  stuck: 'engine-unavailable',
  absent: null,
  'name-taken': 'name-taken',
  'port-taken': 'port-conflict',
  'network-missing': 'network-missing',
  'out-of-order': 'engine-unavailable',
  'image-missing': 'image-missing',
  unauthorized: 'pull-unauthorized',
  'no-space': 'disk-pressure',
  aborted: null,
  refused: null,
};

function codeOf(error: unknown, { do: kind }: Step): TroubleCode {
  const engineCode = error instanceof EngineError ? error.code : 'refused';
  // A pull without progress is the registry's fault.
  if (kind === 'pull' && engineCode === 'timeout') return 'pull-failed';
  const known = CODES[engineCode];
  if (known !== null) return known;
  if (kind === 'pull') return 'pull-failed';
  if (kind === 'create') return 'create-failed';
  return kind === 'start' || kind === 'restart' ? 'start-failed' : 'change-failed';
}
