import { CARRIES_REVISION } from '../revision.ts';
import {
  mapOperations,
  mapValues,
  type OpenApiDocument,
  type Operation,
  type ResponseSpec,
} from './document.ts';

/** Adds the headers of requests and replies, which follow from the path and its possible replies. */
export function withHeaders(document: OpenApiDocument): OpenApiDocument {
  return mapOperations(document, (operation, path) => ({
    ...operation,
    parameters: [...(operation.parameters ?? []), ...requestHeaders(path, operation)],
    responses: mapValues(operation.responses, (response, status) => ({
      ...response,
      headers: replyHeaders({ path, status, operation, response }),
    })),
  }));
}

const TEXT = { type: 'string' };
const REQUEST_ID_DOCS = `The id of the request in the log, the response and the commit. 1 to 64 letters, digits, dots, underscores, colons
and hyphens; any other value is replaced by a generated id.`;

function requestHeaders(path: string, { responses }: Operation): object[] {
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
    ...(isPoll(path) ? [header('Holdfast-Device', 'The name of the device, by the rules of names.')] : []),
  ];
}

function isPoll(path: string): boolean {
  return path.endsWith('/info');
}

/** References to the schemas of replies that have an ETag. */
const TAGGED = /\/(App|DeviceGroup|DeviceGroupInfo|ObjectFile)$/;

interface Reply {
  path: string;
  status: string;
  operation: Operation;
  response: ResponseSpec;
}

function replyHeaders({ path, status, operation, response }: Reply): Record<string, object> {
  const header = (description: string): object => ({ description, schema: TEXT });
  const [body] = Object.values(response.content ?? {});
  const isTagged = status === '304' || TAGGED.test(body?.schema?.$ref ?? '');
  const use = usesOfTag(path);
  return {
    'X-Request-Id': header('The id of the request in the log.'),
    ...(isTagged ? { ETag: header(`Changes whenever the body does; for ${use}.`) } : {}),
    ...(isTagged && isPoll(path) ? { 'Holdfast-Device-Group': header('The name of the group.') } : {}),
    ...(status === '401' && operation.security?.length !== 0
      ? { 'WWW-Authenticate': header('The authentication scheme to use.') }
      : {}),
    ...(CARRIES_REVISION.test(path) && status !== '401'
      ? { 'Holdfast-Revision': header('The revision that was applied when the response was made.') }
      : {}),
  };
}

function usesOfTag(path: string): string {
  if (isPoll(path)) return 'If-None-Match only';
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
