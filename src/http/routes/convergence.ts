import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { absentError, revisionAbsent } from '../../change/refusals.ts';
import { countDevices, countReached, countVersions } from '../../fleet/counts.ts';
import { AppConvergence, Convergence } from '../../protocol/device.ts';
import { parseKey } from '../../protocol/name.ts';
import type { Entry } from '../../store/entry.ts';
import type { Served } from '../../store/served.ts';
import type { Api } from '../api.ts';
import { absentErrors, commonErrors, json, parameterErrors, readErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { nameIn } from '../request/name.ts';

const tag = 'devices';
const allRoute = route('GET', '/api/v2/convergence', {
  operationId: 'getConvergence',
  action: 'read',
  summary: 'Count the devices of each group by their state',
  tag,
  reply: [200, json('The counts.', Convergence)],
  errors: commonErrors,
});
const revisionRoute = route('GET', '/api/v2/convergence/revisions/:revision', {
  operationId: 'getRevisionConvergence',
  action: 'read',
  summary: 'Count the devices that a revision concerns by whether they have it',
  tag,
  params: z.object({
    revision: z.string().describe('The id of a commit or its first digits, a branch or a tag.'),
  }),
  reply: [200, json('The groups that it concerns: `current` has it, `behind` does not yet.', Convergence)],
  errors: { ...commonErrors, ...absentErrors },
});
const appRoute = route('GET', '/api/v2/convergence/apps/:app_name', {
  operationId: 'getAppConvergence',
  action: 'read',
  summary: 'Count the devices by which version of an app they have',
  tag,
  object: { kind: 'app' },
  carriesRevision: false,
  reply: [200, json('The versions, newest first.', AppConvergence)],
  errors: { ...readErrors('app'), ...parameterErrors },
});

/** How many devices have what they should have. */
export function convergenceRoutes(app: FastifyInstance, { fleet, past }: Api): void {
  allRoute(app, async () => countDevices(await fleet.known(), fleet.anonymousPolls()));
  revisionRoute(app, async (request) => {
    const revision = await past.revision((request.params as { revision: string }).revision);
    const entry = revision === null ? null : await past.appliedEntry(revision);
    if (revision === null || entry === null) throw revisionAbsent();
    const known = await fleet.known();
    return countReached(
      entry.idSequence ?? Number.MAX_SAFE_INTEGER,
      concerned(entry, known.standard.served),
      revision,
      known,
    );
  });
  appRoute(app, async (request) => {
    const name = nameIn(request, 'app');
    const known = await fleet.known();
    const present = known.standard.served.apps.get(name);
    if (present === undefined) throw absentError('app', name);
    const versions = await past.versionsOf(name);
    const [newest] = versions;
    const isListed = newest?.id === present.id;
    const first = isListed ? [] : [{ id: present.id, idSequence: present.changed, revision: null }];
    return countVersions(name, [...first, ...versions], known);
  });
}

/** The groups that an entry concerns: those that it changed, and those that list an app that it changed. */
function concerned({ changes, effects }: Entry, { groups }: Served): string[] {
  const keys = changes.map(({ object }) => parseKey(object));
  const apps = new Set(keys.filter(({ kind }) => kind === 'app').map(({ name }) => name));
  const named = new Set([
    ...keys.filter(({ kind }) => kind === 'device_group').map(({ name }) => name),
    ...effects.flatMap((effect) => effect.groups),
  ]);
  return [...groups]
    .filter(([name, group]) => named.has(name) || group.apps.some((each) => apps.has(each)))
    .map(([name]) => name);
}
