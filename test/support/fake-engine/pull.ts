import type { ServerResponse } from 'node:http';
import type { Machine } from './machine.ts';
import type { PullTrouble } from './registry.ts';

/** What Docker answers with a status of its own, before the first byte of the stream. */
const AT_ONCE: Partial<Record<PullTrouble, string>> = {
  down: 'Get "https://example.com/v2/": dial tcp 192.0.2.1:443: connect: connection refused',
  unauthorized: 'Head "https://example.com/v2/web/manifests/v1": no basic auth credentials',
  '500': 'received unexpected HTTP status: 500 Internal Server Error',
  html: "error unmarshalling content: invalid character '<' looking for beginning of value",
};
/** What it says in the stream. */
const IN_STREAM: Partial<Record<PullTrouble, string>> = {
  truncated: 'unexpected EOF',
  corrupt: 'filesystem layer verification failed for digest sha256:ae6d7644bde3',
  'no-space':
    'failed to register layer: Error processing tar file(exit status 1): write /bin/busybox: no space left on device',
};
/** Milliseconds between the lines of a stream without an end. */
const PAUSE = 5;

/** Answers a pull of a name with a tag or a digest. */
export function answerPull(machine: Machine, query: URLSearchParams, response: ServerResponse): void {
  const [name, version] = [query.get('fromImage') ?? '', query.get('tag') ?? ''];
  const reference = `${name}${version.startsWith('sha256:') ? '@' : ':'}${version}`;
  const image = machine.registry.find(name, version);
  const trouble = machine.registry.troubleOf(reference);
  const refusal = AT_ONCE[trouble ?? 'slow'];
  if (refusal !== undefined) refuse(500, refusal, response);
  else if (image === undefined)
    refuse(404, `manifest for ${reference} not found: manifest unknown: manifest unknown`, response);
  else {
    const say = begin(response, version);
    if (trouble !== null) fail(trouble, response, say);
    else {
      machine.store(name, version, image);
      say({ status: `Digest: ${image.digest}` });
      say({ status: `Status: Downloaded newer image for ${reference}` });
      response.end();
    }
  }
}

function refuse(status: number, message: string, response: ServerResponse): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
}

function begin(response: ServerResponse, version: string): (line: unknown) => void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const say = (line: unknown): void => void response.write(`${JSON.stringify(line)}\r\n`);
  say({ status: 'Pulling from web', id: version });
  return say;
}

function fail(trouble: PullTrouble, response: ServerResponse, say: (line: unknown) => void): void {
  const message = IN_STREAM[trouble];
  if (message !== undefined) {
    say({ status: 'Retrying in 1 second', progressDetail: {}, id: 'ae6d7644bde3' });
    say({ errorDetail: { message }, error: message });
    response.end();
  } else if (trouble === 'silent') response.end();
  else if (trouble === 'cut') response.write('{"status":"Downlo', () => response.destroy());
  else if (trouble !== 'hangs') repeat(trouble, response, say);
}

function repeat(trouble: PullTrouble, response: ServerResponse, say: (line: unknown) => void): void {
  const status = trouble === 'slow' ? 'Downloading' : 'Retrying in 5 seconds';
  const timer = setInterval(() => say({ status, progressDetail: {}, id: 'ae6d7644bde3' }), PAUSE);
  response.on('close', () => clearInterval(timer));
}
