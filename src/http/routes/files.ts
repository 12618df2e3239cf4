import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { fileWrites } from '../../change/batch/object-file.ts';
import { absentError, fileMoved, ownError } from '../../change/refusals.ts';
import type { ObjectFile } from '../../change/write.ts';
import { HoldfastError } from '../../errors.ts';
import type { ObjectKey } from '../../protocol/name.ts';
import { Preview } from '../../protocol/plan.ts';
import { FreeText } from '../../protocol/text.ts';
import type { Api } from '../api.ts';
import { ifMatchIn } from '../conditions.ts';
import { sendPreview } from '../dry-run.ts';
import { fileErrors, fileWriteErrors, json } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { writeContext } from '../request/context.ts';
import { readFields } from '../request/fields.ts';
import { ObjectPath, objectIn } from '../request/object-path.ts';
import { isDryRun, WriteOptions } from '../request/write-options.ts';
import { RequestRefused } from '../request-refused.ts';
import { sendAtRevision } from '../revision.ts';

const FILE_PATH = '/api/v2/files/:kind/:name';

const FileRecord = z
  .object({
    path: z.string().describe('Inside the repository.'),
    blob: z.string().describe('The id of its bytes, which is also the ETag.'),
    text: z.string(),
    revision: z.string().describe('The commit at which it was read.'),
  })
  .meta({ id: 'ObjectFile' });

const FileText = z.strictObject({ text: FreeText }).meta({ id: 'FileText' });

const readRoute = route('GET', FILE_PATH, {
  operationId: 'getFile',
  action: 'read',
  carriesRevision: true,
  summary: 'Read the file of an object, valid or not',
  tag: 'changes',
  params: ObjectPath,
  reply: [200, json('The file.', FileRecord)],
  errors: fileErrors,
});
const writeRoute = route('PUT', FILE_PATH, {
  operationId: 'putFile',
  action: 'edit',
  carriesRevision: true,
  summary: 'Write the file of an object',
  tag: 'changes',
  params: ObjectPath,
  query: WriteOptions,
  body: FileText,
  reply: [202, json('The file after the commit.', FileRecord)],
  errors: { 200: json('The preview, with dry_run=true.', Preview), ...fileWriteErrors },
});

/** The files of objects as text (docs/contract.md, 4.7). */
export function fileRoutes(app: FastifyInstance, api: Api): void {
  readRoute(app, async (request, reply) => {
    const key = objectIn(request);
    return sendFile(reply, 200, key, await api.writer.file(key));
  });

  writeRoute(app, async (request, reply) => {
    const key = objectIn(request);
    const present = await api.writer.file(key);
    if (present === null && request.headers['if-match'] !== undefined) throw absentError(key.kind, key.name);
    const { text } = readFields(request, { schema: FileText, ignored: [], required: ['text'] });
    requireExpected(request, present);
    const set = { changes: fileWrites(key, text as string, present), subject: null, trailers: [] };
    // The tag is that of the file, which the write itself compares.
    const context = { ...writeContext(request, 'change'), ifMatch: null };
    try {
      if (isDryRun(request)) return sendPreview(reply, await api.writer.preview(set, context), api);
      await api.writer.commit(set, context);
    } catch (error) {
      throw ownError(error);
    }
    return sendFile(reply, 202, key, await api.writer.file(key));
  });
}

function sendFile(
  reply: FastifyReply,
  status: number,
  { kind, name }: ObjectKey,
  file: ObjectFile | null,
): FastifyReply {
  if (file === null) throw absentError(kind, name);
  const { paths: _, ...record } = file;
  return sendAtRevision(reply.header('etag', `"${file.blob}"`), status, file.revision, record);
}

/** Refuses a request without a condition, or whose condition the file does not fulfil. */
function requireExpected(request: FastifyRequest, present: ObjectFile | null): void {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  const isNew = ifNoneMatch?.trim() === '*';
  if (ifMatch === undefined && !isNew) {
    const message = 'send If-Match with the ETag of the file, or If-None-Match: * for a new one';
    throw new RequestRefused(428, message);
  }
  if (isNew && present !== null) throw fileMoved(present.blob);
  if (ifMatch === undefined) return;
  const tags = ifMatchIn(request);
  const tag = present === null ? null : `"${present.blob}"`;
  if (tag === null || (tags !== null && !tags.includes(tag)))
    throw new HoldfastError('moved-on', `If-Match does not match: the ETag is ${tag} now`);
}
