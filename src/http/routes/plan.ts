import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { withinLimit } from '../../change/wait-limit.ts';
import { effectRecord, stepRecord } from '../../plan/records.ts';
import { BranchPlanRecord } from '../../protocol/plan.ts';
import type { BranchPlan } from '../../reconcile/branch-plan.ts';
import type { Api } from '../api.ts';
import { countingDevices, type DevicesIn, withDevices } from '../effects.ts';
import { commonErrors, Fault, json, parameterErrors, revisionAbsence } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { Text } from '../request/query.ts';

const Query = z.object({
  revision: Text.max(300, 'must have at most 300 characters').describe(
    'A branch, a tag, a full or short id, or a pull request: pr/12, mr/12.',
  ),
});

const planRoute = route('GET', '/api/v2/plan', {
  operationId: 'planRevision',
  action: 'read',
  summary: 'What a branch, tag or pull request of the origin would change',
  tag: 'manager',
  query: Query,
  reply: [200, json('The plan.', BranchPlanRecord)],
  errors: {
    ...commonErrors,
    ...parameterErrors,
    404: revisionAbsence,
    409: json('It has no commit in common with the branch that is followed.', Fault),
  },
});

/** Plans without a checkout (docs/history.md). */
export function planRoutes(app: FastifyInstance, { branchPlans, fleet, waitLimit }: Api): void {
  planRoute(app, async (request) => {
    const { revision } = request.query;
    const plan = await withinLimit(waitLimit, branchPlans.plan(revision));
    return planRecord(plan, await countingDevices(fleet));
  });
}

function planRecord(
  { mergeBase, steps, effects, ...plan }: BranchPlan,
  devicesIn: DevicesIn,
): z.infer<typeof BranchPlanRecord> {
  return {
    ...plan,
    merge_base: mergeBase,
    steps: steps.map(stepRecord),
    effects: withDevices(effects.map(effectRecord), devicesIn),
    problems: [...plan.problems],
  };
}
