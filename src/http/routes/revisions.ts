import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { absentError, revisionAbsent } from '../../change/refusals.ts';
import { Blame, Diff } from '../../protocol/history.ts';
import type { Api } from '../api.ts';
import { AnyExistence, absentErrors, commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { ObjectPath, objectIn } from '../request/object-path.ts';
import { Text } from '../request/query.ts';

const DiffQuery = z.object({ from: Text, to: Text });

const diffRoute = route('GET', '/api/v2/diff', {
  operationId: 'compareRevisions',
  action: 'read',
  summary: 'Compare the desired state of two revisions',
  tag: 'history',
  query: DiffQuery,
  reply: [200, json('What is different at `to`.', Diff)],
  errors: { ...commonErrors, ...parameterErrors, ...absentErrors },
});

const BlameQuery = z.object({
  revision: Text.optional().describe('The applied revision by default.'),
});

const blameRoute = route('GET', '/api/v2/blame/:kind/:name', {
  operationId: 'blameObject',
  action: 'read',
  summary: 'Read which commit wrote each line of an object’s file',
  tag: 'history',
  params: ObjectPath,
  query: BlameQuery,
  reply: [200, json('The lines of the file.', Blame)],
  errors: {
    ...commonErrors,
    ...parameterErrors,
    ...absentErrors,
    403: json('The object has no file at this revision, or the request is not permitted.', AnyExistence),
  },
});

/** What is different between two revisions, and who wrote the lines of a file. */
export function revisionRoutes(app: FastifyInstance, api: Api): void {
  const { past } = api;
  diffRoute(app, async (request) => {
    const { from, to } = request.query;
    const ends = [await requireRevision(from, api), await requireRevision(to, api)] as const;
    const { steps, files, stepsTotal, filesTotal } = await past.diff(...ends);
    return { from: ends[0], to: ends[1], steps, steps_total: stepsTotal, files, files_total: filesTotal };
  });
  blameRoute(app, async (request) => {
    const { kind, name } = objectIn(request);
    const { revision } = request.query;
    const wanted = revision ?? api.reconciler.status().applied?.revision;
    if (wanted === undefined) throw absentError(kind, name);
    const found = await past.blame(kind, name, await requireRevision(wanted, api));
    if (found === null) throw absentError(kind, name);
    return {
      ...found,
      lines: found.lines.map((line) => ({ ...line, at: new Date(line.at).toISOString() })),
    };
  });
}

async function requireRevision(name: string, { past }: Api): Promise<string> {
  const revision = await past.revision(name);
  if (revision === null) throw revisionAbsent();
  return revision;
}
