import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { WhenDone } from '../folder.ts';
import { buildImage, digestOf, type ImageOptions, WEB } from './images.ts';

/** Ways in which a registry misbehaves; those that begin with `blob` concern the layers alone. */
export type Trouble =
  | 'blob-truncated'
  | 'blob-corrupt'
  /** A kilobyte a second: Docker reports nothing for ten. */
  | 'blob-slow'
  /** 20 KB a second. */
  | 'blob-steady'
  | 'blob-500'
  | 'blob-hangs'
  | 'html'
  | 'unauthorized'
  | '500';

/** A registry on loopback, with its images in memory. */
export interface Registry {
  /** `127.0.0.1:5000` */
  host: string;
  /** Returns a reference of this registry: `127.0.0.1:5000/web:v1`. */
  reference(tag: string, repository?: string): string;
  /** Stores an image under a tag, which thereby moves if it is there already. */
  push(tag: string, options: ImageOptions, repository?: string): void;
  /** Moves a tag to the image of another one. */
  move(tag: string, from: string, repository?: string): void;
  /** Deletes a tag. */
  drop(tag: string, repository?: string): void;
  /** Returns the digest of a tag's manifest. */
  digest(tag: string, repository?: string): string;
  /** Misbehaves from now on, if a repository is given only for that one; null ends it. */
  trouble(kind: Trouble | null, repository?: string): void;
  /** Wants this account from now on; null ends it. */
  requireLogin(account: { username: string; password: string } | null): void;
  /** Requests so far, such as `GET /v2/web/manifests/v1`. */
  requests: string[];
  /** Refuses connections from now on. */
  down(): Promise<void>;
  /** Listens again, on the same port. */
  up(): Promise<void>;
  /** Behaves again, with the images that it began with. */
  reset(): Promise<void>;
}

const KILOBYTE = 1024;
/** Bytes; what is smaller is the config of an image and no layer. */
const LARGEST_CONFIG = 3000;

/** Starts a registry with the images of `WEB` in the repository `web`; `web:latest` is v1. */
export async function startRegistry(whenDone: WhenDone = onTestFinished): Promise<Registry> {
  const store = new ImageStore();
  store.fill();
  const requests: string[] = [];
  const troubles = new Map<string, Trouble>();
  let login: string | null = null;
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request;
    requests.push(`${method} ${url}`);
    const [, repository = ''] = /^\/v2\/(.+)\/(?:manifests|blobs)\//.exec(url) ?? [];
    const trouble = troubles.get(repository) ?? troubles.get('') ?? null;
    if (login !== null && request.headers.authorization !== login) return refuse(response);
    if (!answerBadly(trouble, response)) serve(store, request, response, trouble);
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  const down = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const up = async (): Promise<void> => (server.listening ? undefined : listen(port));
  whenDone(down);
  return {
    host,
    requests,
    down,
    up,
    reset: async () => {
      await up();
      troubles.clear();
      login = null;
      requests.length = 0;
      store.fill();
    },
    reference: (tag, repository = 'web') => `${host}/${repository}:${tag}`,
    push: (tag, options, repository) => store.push(tag, options, repository),
    move: (tag, from, repository) => store.move(tag, from, repository),
    drop: (tag, repository = 'web') => void store.tags.delete(`${repository}:${tag}`),
    digest: (tag, repository = 'web') => store.tags.get(`${repository}:${tag}`) ?? '',
    trouble: (kind, repository = '') => {
      if (kind === null) troubles.delete(repository);
      else troubles.set(repository, kind);
    },
    requireLogin: (account) => {
      login =
        account === null
          ? null
          : `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`;
    },
  };
}

class ImageStore {
  /** Digest of the manifest by `repository:tag`. */
  readonly tags = new Map<string, string>();
  /** By digest. */
  readonly manifests = new Map<string, { mediaType: string; content: Buffer }>();
  readonly blobs = new Map<string, Buffer>();

  /** Has the images of `WEB` and no others. */
  fill(): void {
    this.tags.clear();
    for (const [tag, options] of Object.entries(WEB)) this.push(tag, options);
    this.move('latest', 'v1');
  }

  push(tag: string, options: ImageOptions, repository = 'web'): void {
    const { manifest, mediaType, blobs } = buildImage(options);
    const digest = digestOf(manifest);
    this.manifests.set(digest, { mediaType, content: manifest });
    for (const [key, blob] of blobs) this.blobs.set(key, blob);
    this.tags.set(`${repository}:${tag}`, digest);
  }

  move(tag: string, from: string, repository = 'web'): void {
    const digest = this.tags.get(`${repository}:${from}`);
    if (digest === undefined) throw new Error(`there is no ${repository}:${from}`);
    this.tags.set(`${repository}:${tag}`, digest);
  }
}

function refuse(response: ServerResponse): void {
  response.writeHead(401, { 'www-authenticate': 'Basic realm="test"', 'content-type': 'application/json' });
  response.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}');
}

/** Answers for the troubles that concern every request. */
function answerBadly(trouble: Trouble | null, response: ServerResponse): boolean {
  if (trouble === 'html') {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<html>Please log in to this network.</html>');
  } else if (trouble === 'unauthorized') {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}');
  } else if (trouble === '500') response.writeHead(500).end('no');
  else return false;
  return true;
}

function serve(
  store: ImageStore,
  { url = '', method, headers }: IncomingMessage,
  response: ServerResponse,
  trouble: Trouble | null,
): void {
  const range = /^bytes=(\d+)-/.exec(headers.range ?? '');
  const [, repository = '', kind, reference = ''] =
    /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
  if (kind === 'blobs') sendBlob(store.blobs.get(reference), Number(range?.[1] ?? 0), response, trouble);
  else if (kind === 'manifests') sendManifest(store, `${repository}:${reference}`, method, response);
  else response.writeHead(200, { 'docker-distribution-api-version': 'registry/2.0' }).end('{}');
}

function sendManifest(
  store: ImageStore,
  name: string,
  method: string | undefined,
  response: ServerResponse,
): void {
  const [, digest = store.tags.get(name) ?? ''] = /:(sha256:.*)$/.exec(name) ?? [];
  const manifest = store.manifests.get(digest);
  if (manifest === undefined) {
    missing(response, 'MANIFEST_UNKNOWN', 'manifest unknown');
    return;
  }
  response.writeHead(200, {
    'content-type': manifest.mediaType,
    'content-length': manifest.content.length,
    'docker-content-digest': digest,
  });
  response.end(method === 'HEAD' ? undefined : manifest.content);
}

function missing(response: ServerResponse, code: string, message: string): void {
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ errors: [{ code, message }] }));
}

function sendBlob(
  blob: Buffer | undefined,
  start: number,
  response: ServerResponse,
  trouble: Trouble | null,
): void {
  const way = blob === undefined || blob.length < LARGEST_CONFIG ? null : trouble;
  if (blob === undefined) missing(response, 'BLOB_UNKNOWN', 'blob unknown');
  else if (way === 'blob-500') response.writeHead(500).end('no');
  else {
    // Docker asks for the rest of a layer of which it has a part.
    const range = { 'content-range': `bytes ${start}-${blob.length - 1}/${blob.length}` };
    const headers = { 'content-length': blob.length - start, ...(start > 0 && range) };
    response.writeHead(start > 0 ? 206 : 200, headers);
    sendLayer(blob.subarray(start), response, way);
  }
}

function sendLayer(blob: Buffer, response: ServerResponse, trouble: Trouble | null): void {
  if (trouble === 'blob-truncated') {
    response.write(blob.subarray(0, blob.length / 2), () => response.destroy());
  } else if (trouble === 'blob-slow') sendSlowly(blob, response, KILOBYTE);
  else if (trouble === 'blob-steady') sendSlowly(blob, response, 20 * KILOBYTE);
  else if (trouble === 'blob-hangs') response.write(blob.subarray(0, KILOBYTE));
  else response.end(trouble === 'blob-corrupt' ? corrupt(blob) : blob);
}

function corrupt(blob: Buffer): Buffer {
  const changed = Buffer.from(blob);
  const middle = changed.length >> 1;
  changed[middle] = (changed[middle] ?? 0) ^ 255;
  return changed;
}

function sendSlowly(blob: Buffer, response: ServerResponse, bytesPerSecond: number): void {
  let sent = 0;
  const timer = setInterval(() => {
    response.write(blob.subarray(sent, sent + bytesPerSecond));
    sent += bytesPerSecond;
    if (sent >= blob.length) response.end();
  }, 1000);
  response.on('close', () => clearInterval(timer));
}
