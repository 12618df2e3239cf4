import { createHash } from 'node:crypto';

/** What containers of an image do. */
export interface Behaviour {
  /** What its health check says from the start; `manual` is `starting` until the test says otherwise. */
  health?: 'none' | 'healthy' | 'unhealthy' | 'manual';
  /** The code with which it exits at once; it runs if this is null. */
  exits?: number | null;
}

/** An image, in the registry or on the machine. */
export interface FakeImage {
  id: string;
  digest: string;
  version: string;
  behaviour: Required<Behaviour>;
}

/** Ways in which a pull fails. `missing` needs none: it is a tag that nobody has pushed. */
export type PullTrouble =
  | 'down'
  | 'unauthorized'
  | '500'
  | 'html'
  | 'truncated'
  | 'corrupt'
  | 'no-space'
  /** Says nothing any more. */
  | 'hangs'
  /** Says forever that it tries again soon. */
  | 'retries'
  /** The connection ends in the middle of a line. */
  | 'cut'
  /** The stream ends well, but the image is not there. */
  | 'silent'
  /** Makes progress forever. */
  | 'slow';

/** What can be pulled, by reference with tag: `example.com/web:v1`. */
export class FakeRegistry {
  readonly #tags = new Map<string, FakeImage>();
  readonly #troubles = new Map<string, PullTrouble>();

  /** Stores an image under a reference, which moves if it is there already. Equal versions are the same image. */
  push(reference: string, version: string, { health = 'none', exits = null }: Behaviour = {}): FakeImage {
    const image = {
      id: hash(`id ${version}`),
      digest: hash(`digest ${version}`),
      version,
      behaviour: { health, exits },
    };
    this.#tags.set(reference, image);
    return image;
  }

  drop(reference: string): void {
    this.#tags.delete(reference);
  }

  /** Makes pulls of a reference fail from now on, or those of all if it is null; null as `trouble` ends it. */
  trouble(reference: string | null, trouble: PullTrouble | null): void {
    if (trouble === null) this.#troubles.delete(reference ?? '');
    else this.#troubles.set(reference ?? '', trouble);
  }

  troubleOf(reference: string): PullTrouble | null {
    return this.#troubles.get(reference) ?? this.#troubles.get('') ?? null;
  }

  /** Finds an image by name and tag or digest. */
  find(name: string, version: string): FakeImage | undefined {
    if (!version.startsWith('sha256:')) return this.#tags.get(`${name}:${version}`);
    return [...this.#tags].find(
      ([tag, image]) => tag.startsWith(`${name}:`) && image.digest === version,
    )?.[1];
  }
}

function hash(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
