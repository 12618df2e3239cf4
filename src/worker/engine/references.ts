/** A reference to an image, as Docker resolves it. */
export interface Reference {
  /** Where it is pulled from: `docker.io`, `ghcr.io`, `127.0.0.1:5000`. */
  registry: string;
  /** Its path there: `library/nginx`. */
  path: string;
  /** Null if it has neither tag nor digest. */
  tag: string | null;
  digest: string | null;
}

/** Docker Hub, where references without a registry lead. */
export const DOCKER_HUB = 'docker.io';
const DEFAULT_TAG = 'latest';
const IMAGE_ID = /^(sha256:)?[0-9a-f]{64}$/;

/** Whether a text is the id of an image and not a reference. */
export function isImageId(text: string): boolean {
  return IMAGE_ID.test(text);
}

/** Splits a valid reference into its parts. The part before the first slash is a registry only if it looks like a host. */
export function parseReference(reference: string): Reference {
  const { name, tag, digest } = split(reference);
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const isHost = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const registry = isHost && first !== 'index.docker.io' ? first : DOCKER_HUB;
  const path = isHost ? name.slice(slash + 1) : name;
  const isOfficial = registry === DOCKER_HUB && !path.includes('/');
  return { registry, path: isOfficial ? `library/${path}` : path, tag, digest };
}

/**
 * Returns the reference by which an engine is asked for exactly this image: with the tag `latest` if it has neither tag
 * nor digest (a bare name could also be the beginning of an id), and without a tag beside a digest, which engines ignore.
 * An id stays as it is.
 */
export function exactReference(reference: string): string {
  if (isImageId(reference)) return reference;
  const { name, tag, digest } = split(reference);
  return digest === null ? `${name}:${tag ?? DEFAULT_TAG}` : `${name}@${digest}`;
}

/** Returns the two parts of which a pull consists: the name, and the tag or digest. */
export function pullParts(reference: string): { name: string; version: string } {
  const { name, tag, digest } = split(reference);
  return { name, version: digest ?? tag ?? DEFAULT_TAG };
}

function split(reference: string): { name: string; tag: string | null; digest: string | null } {
  const at = reference.indexOf('@');
  const rest = at === -1 ? reference : reference.slice(0, at);
  const colon = rest.lastIndexOf(':');
  const hasTag = colon > rest.lastIndexOf('/');
  return {
    name: hasTag ? rest.slice(0, colon) : rest,
    tag: hasTag ? rest.slice(colon + 1) : null,
    digest: at === -1 ? null : reference.slice(at + 1),
  };
}
