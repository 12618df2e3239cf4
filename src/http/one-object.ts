import type { FastifyReply, FastifyRequest } from 'fastify';
import { absent } from '../change/refusals.ts';
import type { Write } from '../change/write.ts';
import type { Kind } from '../desired/name.ts';
import { tagsOf } from '../store/if-match.ts';
import type { AtRevision, StoredObject } from '../store/store.ts';
import type { Api } from './api.ts';
import { isUnchanged, sendUnchanged } from './conditions.ts';
import { objectRecord } from './records.ts';
import { writeContext } from './request/context.ts';
import { send, withRevision } from './revision.ts';

/** What was read, without null; throws the 403 of an object that does not exist. */
export function found<T>({ value, revision }: AtRevision<T | null>, kind: Kind, name: string): AtRevision<T> {
  if (value === null) throw absent(kind, name);
  return { value, revision };
}

/** Makes a change of an object; resolves to the object as it is right after. Throws as `Writer.write`. */
export async function writeObject(
  { writer }: Api,
  request: FastifyRequest,
  write: Write,
): Promise<AtRevision<StoredObject>> {
  const { object } = await writer.write(write, writeContext(request, write.op));
  return found(object, write.kind, write.name);
}

/** Sends an app or a device group as it was read, with its ETag; a 304 if the client has it already. */
export function sendObject(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { value, revision }: AtRevision<StoredObject>,
): FastifyReply {
  const [etag] = tagsOf(value);
  if (isUnchanged(request, etag))
    return sendUnchanged(request, withRevision(reply, revision).header('etag', etag));
  return send(reply.header('etag', etag), status, revision, objectRecord(value));
}
