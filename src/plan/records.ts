import type { EffectRecord, StepRecord } from '../protocol/plan.ts';
import { changedFields } from './describe.ts';
import type { Effect } from './effect.ts';
import { changeTypeOf, type Step } from './step.ts';

/** Returns a step in the form that the API shows. */
export function stepRecord(step: Step): StepRecord {
  const { kind, name, before, after } = step;
  const fields = before === null || after === null ? [] : changedFields(before, after);
  return {
    kind,
    name,
    action: changeTypeOf(step),
    fields,
    before: before && { ...before },
    after: after && { ...after },
  };
}

/** Returns an effect in the form that the API shows. */
export function effectRecord(effect: Effect): EffectRecord {
  return { ...effect, devices: null };
}
