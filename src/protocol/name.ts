import * as z from 'zod';

/** Names of objects: safe as a file name and in a URL. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The rule of `NAME_PATTERN` in words. */
export const NAME_RULE =
  'a name starts with a letter or digit and has at most 128 letters, digits, dots, underscores and hyphens';

/** A valid name. An object of that name need not exist. */
export const Name = z.string().regex(NAME_PATTERN, { error: NAME_RULE });
export type Name = z.infer<typeof Name>;

/** The kinds of objects that a desired state holds, in the order in which they are shown: each after those that it names. */
export const KINDS = ['app', 'device_group', 'device'] as const;
export type Kind = (typeof KINDS)[number];

/** Identifies an object. Objects of different kinds can have the same name. */
export interface ObjectKey {
  kind: Kind;
  name: string;
}

/** Literals, so that all keys share them in memory: a key joined from kind, slash and name would have its own copy. */
const PREFIXES: Readonly<Record<Kind, string>> = {
  app: 'app/',
  device_group: 'device_group/',
  device: 'device/',
};

/** Returns the key as one string, such as `app/web` or `device_group/edge`: for maps, and in MongoDB. */
export function keyOf(kind: Kind, name: string): string {
  return `${PREFIXES[kind]}${name}`;
}

/** Parses a key that `keyOf` returned. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf('/');
  return { kind: key.slice(0, slash) as Kind, name: key.slice(slash + 1) };
}
