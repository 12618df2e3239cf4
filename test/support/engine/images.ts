import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { tar } from './tar.ts';

/** A program without libraries, from Debian's package busybox-static. */
export const BUSYBOX = '/bin/busybox';

/** What an image runs, and how an engine finds out whether it is well. */
export interface ImageOptions {
  /** What it answers over HTTP on port 80; different texts make different images. */
  version: string;
  command?: readonly string[];
  /** The command of its health check; null for an image without one. */
  health?: readonly string[] | null;
  /** Bytes that do not compress, besides a megabyte of programs. */
  ballast?: number;
}

/** An image as a registry stores it. */
export interface BuiltImage {
  manifest: Buffer;
  mediaType: string;
  /** By digest. */
  blobs: Map<string, Buffer>;
}

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const SERVE = [BUSYBOX, 'httpd', '-f', '-p', '80', '-h', '/www'];
const ASK = [BUSYBOX, 'wget', '-q', '-O', '/dev/null', 'http://127.0.0.1/'];
const SECOND = 1e9;

/** The images that most tests need, by their tag in the repository `web`. */
export const WEB: Readonly<Record<string, ImageOptions>> = {
  v1: { version: 'v1' },
  v2: { version: 'v2' },
  v3: { version: 'v3' },
  /** Answers, but never gets healthy. */
  sick: { version: 'sick', health: [BUSYBOX, 'false'] },
  /** Exits at once. */
  crash: { version: 'crash', command: [BUSYBOX, 'false'] },
  /** Has no health check. */
  plain: { version: 'plain', health: null },
};

/** Builds an image, whose one layer is different from those of all other versions. */
export function buildImage({
  version,
  command = SERVE,
  health = ASK,
  ballast = 0,
}: ImageOptions): BuiltImage {
  const layer = tar([
    { path: 'bin/' },
    { path: 'bin/busybox', mode: 0o755, content: readFileSync(BUSYBOX) },
    { path: 'bin/sh', target: 'busybox' },
    { path: 'tmp/', mode: 0o1777 },
    { path: 'www/' },
    { path: 'www/index.html', content: Buffer.from(`${version}\n`) },
    { path: 'ballast', content: noise(version, ballast) },
  ]);
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: {
        Cmd: command,
        // The web server of busybox takes no notice of SIGTERM.
        StopSignal: 'SIGKILL',
        ...(health !== null && {
          Healthcheck: {
            Test: ['CMD', ...health],
            Interval: SECOND,
            Timeout: 2 * SECOND,
            StartPeriod: SECOND,
            Retries: 2,
          },
        }),
      },
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    }),
  );
  const packed = gzipSync(layer, { level: 1 });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: describe('application/vnd.docker.container.image.v1+json', config),
      layers: [describe('application/vnd.docker.image.rootfs.diff.tar.gzip', packed)],
    }),
  );
  return {
    manifest,
    mediaType: MANIFEST,
    blobs: new Map([config, packed].map((blob) => [digestOf(blob), blob])),
  };
}

/** Returns `sha256:` and the hash in hex digits. */
export function digestOf(content: Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function describe(mediaType: string, content: Buffer) {
  return { mediaType, size: content.length, digest: digestOf(content) };
}

/** Bytes that do not compress and are the same for the same seed. */
function noise(seed: string, size: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(size / 64) }, (_, index) =>
    createHash('sha512').update(`${seed} ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, size);
}
