import type { RouteRecord } from '../route-record.ts';
import {
  mapOperations,
  mapValues,
  type OpenApiDocument,
  type Operation,
  type ResponseSpec,
} from './document.ts';

/** Adds the headers of requests and replies, which follow from the possible replies and from the record, which is by `operationId`. */
export function withHeaders(
  document: OpenApiDocument,
  records: ReadonlyMap<string, RouteRecord>,
): OpenApiDocument {
  return mapOperations(document, (operation, path) => {
    const record = records.get(operation.operationId);
    if (record === undefined) return operation;
    const headers = requestHeaders(path, record, operation);
    const responses = mapValues(operation.responses, (response, status) => ({
      ...response,
      headers: replyHeaders({ path, record, status, operation, response }),
    }));
    return { ...operation, parameters: [...(operation.parameters ?? []), ...headers], responses };
  });
}

const TEXT = { type: 'string' };
const REQUEST_ID_DOCS = `The id of the request in the log, the response and the commit. 1 to 64 letters, digits, dots, underscores, colons
and hyphens; any other value is replaced by a generated id.`;

function requestHeaders(path: string, record: RouteRecord, { responses }: Operation): object[] {
  const header = (name: string, description: string): object => ({
    in: 'header',
    name,
    required: false,
    description,
    schema: TEXT,
  });
  return [
    header('X-Request-Id', REQUEST_ID_DOCS),
    ...('412' in responses && path.includes('{')
      ? [
          header(
            'If-Match',
            'The ETag that the object must still have. For a device group, its id alone, in quotes, works as well.',
          ),
        ]
      : []),
    ...('412' in responses
      ? [header('Holdfast-Base', 'The base of a preview: fails if what is written has changed since.')]
      : []),
    ...('304' in responses ? [header('If-None-Match', 'The ETag of the response that the client has.')] : []),
    ...('428' in responses ? [header('If-None-Match', 'With *: there must be no file yet.')] : []),
    ...(isPoll(record) ? [header('Holdfast-Device', 'The name of the device, by the rules of names.')] : []),
  ];
}

/** Whether devices ask the route what they should run. */
function isPoll({ action, object }: RouteRecord): boolean {
  return action === 'poll' && object !== undefined;
}

/** References to the schemas of replies that have an ETag. */
const TAGGED = /\/(App|DeviceGroup|DeviceGroupInfo|ObjectFile)$/;

interface Reply {
  path: string;
  record: RouteRecord;
  status: string;
  operation: Operation;
  response: ResponseSpec;
}

function replyHeaders({ path, record, status, operation, response }: Reply): Record<string, object> {
  const header = (description: string): object => ({ description, schema: TEXT });
  const [body] = Object.values(response.content ?? {});
  const isTagged = status === '304' || TAGGED.test(body?.schema?.$ref ?? '');
  const use = usesOfTag(path, record);
  return {
    'X-Request-Id': header('The id of the request in the log.'),
    ...(isTagged ? { ETag: header(`Changes whenever the body does; for ${use}.`) } : {}),
    ...(isTagged && isPoll(record) ? { 'Holdfast-Device-Group': header('The name of the group.') } : {}),
    ...(status === '401' && operation.security?.length !== 0
      ? { 'WWW-Authenticate': header('The authentication scheme to use.') }
      : {}),
    ...(record.carriesRevision && status !== '401'
      ? { 'Holdfast-Revision': header('The revision that was applied when the response was made.') }
      : {}),
  };
}

function usesOfTag(path: string, record: RouteRecord): string {
  if (isPoll(record)) return 'If-None-Match only';
  return path.includes('/files/') ? 'If-Match' : 'If-None-Match and If-Match';
}

const TOO_SLOW = {
  description: 'The request took too long to arrive.',
  content: { 'text/plain': { schema: TEXT } },
};

/** Adds the reply to a request that takes too long, described once, to every operation. */
export function withTimeouts(document: OpenApiDocument): OpenApiDocument {
  const components = { ...document.components, responses: { RequestTimeout: TOO_SLOW } };
  const reference = [['408', { $ref: '#/components/responses/RequestTimeout' }]];
  return mapOperations({ ...document, components }, (operation) => ({
    ...operation,
    responses: { ...operation.responses, ...Object.fromEntries(reference) },
  }));
}
