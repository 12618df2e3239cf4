import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ObjectKey } from '../protocol/name.ts';
import type { EffectRecord, Preview } from '../protocol/plan.ts';
import { ifMatchRefusal } from '../store/objects/if-match.ts';
import type { Api } from './api.ts';
import { countingDevices, withDevices } from './effects.ts';
import { isDryRun, reasonAndBase } from './request/write-options.ts';

/** Sends a preview, with how many devices each effect has. */
export async function sendPreview(
  reply: FastifyReply,
  preview: Preview,
  { fleet }: Pick<Api, 'fleet'>,
): Promise<FastifyReply> {
  const effects = withDevices(preview.effects, await countingDevices(fleet));
  return reply.code(200).send({ ...preview, effects });
}

/** An operation: a change of ids without a commit. */
interface Operation {
  subject: string;
  /** The objects whose ids it raises. */
  objects: readonly ObjectKey[];
  effects: EffectRecord[];
  /** The tags of `If-Match`, of which each object must have one; null if there is none, or the operation ignores it. */
  ifMatch: readonly string[] | null;
}

/**
 * Checks `Holdfast-Base` for an operation, and logs its reason. Returns the preview if the request asks for one: then the
 * operation must not be carried out. Rejects as `Writer.requireUnchanged` does.
 */
export async function previewOperation(
  { writer, reconciler, store }: Api,
  request: FastifyRequest,
  { subject, objects, effects, ifMatch }: Operation,
): Promise<Preview | null> {
  const { reason, base } = reasonAndBase(request);
  if (base !== undefined) await writer.requireUnchanged(base, objects);
  if (!isDryRun(request)) {
    if (reason !== undefined) request.log.info({ operation: subject, reason }, 'reason');
    return null;
  }
  for (const { kind, name } of ifMatch === null ? [] : objects) {
    const refusal = ifMatchRefusal((await store.object(kind, name)).value, ifMatch);
    if (refusal !== null) throw refusal;
  }
  const applied = reconciler.status().applied?.revision ?? null;
  return { base: applied, subject, files: [], steps: [], effects, problems: [] };
}
