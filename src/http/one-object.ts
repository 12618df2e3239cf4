import type { FastifyReply, FastifyRequest } from 'fastify';
import { absentError, ownError } from '../change/refusals.ts';
import { setOf, type Write, type WriteResult } from '../change/write.ts';
import { HoldfastError } from '../errors.ts';
import type { Kind, ObjectKey } from '../protocol/name.ts';
import { tagsOf } from '../store/objects/if-match.ts';
import type { AtRevision, StoredObject } from '../store/objects/port.ts';
import type { Api } from './api.ts';
import { isNotModified, matchesIfNoneMatch, sendNotModified } from './conditions.ts';
import { sendPreview } from './dry-run.ts';
import { objectRecord } from './records.ts';
import { writeContext } from './request/context.ts';
import { isDryRun } from './request/write-options.ts';
import { sendAtRevision, withRevision } from './revision.ts';

/** Returns the object that was read. Throws the 403 for a missing object if the value is null. */
export function requireFound<T>(
  { value, revision }: AtRevision<T | null>,
  kind: Kind,
  name: string,
): AtRevision<T> {
  if (value === null) throw absentError(kind, name);
  return { value, revision };
}

/**
 * Rejects with the 412 of a write whose `If-None-Match` matches the object (RFC 9110, 13.1.2). Call it after all other
 * checks of the request.
 */
export async function refuseIfNoneMatch(
  { store }: Api,
  { headers }: FastifyRequest,
  { kind, name }: ObjectKey,
): Promise<void> {
  const header = headers['if-none-match'];
  if (header === undefined) return;
  const { value } = await store.object(kind, name);
  if (value === null) return;
  const [etag] = tagsOf(value);
  if (matchesIfNoneMatch(header, etag))
    throw new HoldfastError('moved-on', `If-None-Match matches: the ETag is ${etag} now`);
}

/**
 * Writes an object, and sends the reply that `send` makes of the result; or, if that is asked for, its preview. Rejects as
 * `refuseIfNoneMatch` and `Writer.write` do.
 */
export async function sendWritten<W extends Write>(
  api: Api,
  request: FastifyRequest,
  reply: FastifyReply,
  write: W,
  send: (written: WriteResult<W>) => FastifyReply | Promise<FastifyReply>,
): Promise<FastifyReply> {
  await refuseIfNoneMatch(api, request, write);
  const context = writeContext(request, write.op);
  if (!isDryRun(request)) return send(await api.writer.write(write, context));
  try {
    return sendPreview(reply, await api.writer.preview(setOf(write), context), api);
  } catch (error) {
    throw ownError(error);
  }
}

/** Sends an object with its ETag, or a 304 if the client already has it. */
export function sendObject(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { value, revision }: AtRevision<StoredObject>,
  record: object = objectRecord(value),
): FastifyReply {
  const [etag] = tagsOf(value);
  if (isNotModified(request, etag))
    return sendNotModified(request, withRevision(reply, revision).header('etag', etag));
  return sendAtRevision(reply.header('etag', etag), status, revision, record);
}
