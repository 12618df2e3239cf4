import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './folder.ts';
import { foundOrRequired, works } from './tools.ts';

const execute = promisify(execFile);

/** Whether there is `openssl`, which makes the certificate. */
export const HAS_OPENSSL = foundOrRequired('openssl', works('openssl', ['version']));

/** An origin behind https that asks for a user name and a token. */
export interface HttpsOrigin {
  url: string;
  /** Path of its self-signed certificate. */
  caFile: string;
  port: number;
  /** The `Authorization` header of every request so far; null if there was none. */
  seen: (string | null)[];
  /** Changes the credentials (`user:token`) that are accepted. */
  expect(credentials: string): void;
}

/** Answers a request itself and returns true, or returns false and leaves it to git's server. */
export type Override = (response: ServerResponse, request: IncomingMessage) => boolean;

/** Redirects every request to the same repository path at another address. */
export function redirectTo(address: string): Override {
  return (response, { url }) => {
    response.writeHead(302, { location: `${address}${url?.replace(/^\/[^/]*/, '')}` }).end();
    return true;
  };
}

/** Makes a certificate for this machine, which is its own authority; resolves to the paths of its files. */
export async function selfSignedCertificate(): Promise<{ keyFile: string; caFile: string }> {
  const folder = await temporaryFolder();
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'ca.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await execute('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', keyFile, '-out', caFile]);
  return { keyFile, caFile };
}

/** Serves a bare repository over https, to these credentials (`user:token`), until the test is over. */
export async function serveHttps(
  bare: string,
  credentials: string,
  instead: Override = () => false,
): Promise<HttpsOrigin> {
  const { keyFile, caFile } = await selfSignedCertificate();
  const seen: (string | null)[] = [];
  let expected = basic(credentials);
  const server = createServer(
    { key: await readFile(keyFile), cert: await readFile(caFile) },
    (request, response) => {
      seen.push(request.headers.authorization ?? null);
      if (instead(response, request)) return;
      if (request.headers.authorization !== expected) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      } else runBackend(bare, request, response);
    },
  );
  const port = await listen(server);
  return {
    url: `https://localhost:${port}/fleet.git`,
    caFile,
    port,
    seen,
    expect: (others) => {
      expected = basic(others);
    },
  };
}

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

/** Answers a request by `git http-backend`, which is a CGI program. */
function runBackend(bare: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: join(bare, '..'),
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'robot',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: request.headers['content-length'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  });
  request.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  backend.on('close', () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf('\r\n\r\n');
    const headers = output.subarray(0, end).toString().split('\r\n');
    const pairs = headers.map((line) => line.split(/: (.*)/) as [string, string]);
    const status = pairs.find(([name]) => name.toLowerCase() === 'status')?.[1];
    response.writeHead(
      Number(status?.split(' ')[0] ?? 200),
      Object.fromEntries(pairs.filter(([name]) => name.toLowerCase() !== 'status')),
    );
    response.end(output.subarray(end + 4));
  });
}
