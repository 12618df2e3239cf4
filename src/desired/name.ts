import * as z from 'zod';

/** Names of apps and device groups: safe as a file name and in a URL. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The rule of `NAME_PATTERN` in words. */
export const NAME_RULE =
  'a name starts with a letter or digit and has at most 128 letters, digits, dots, underscores and hyphens';

/** A valid name; nothing of that name need exist. */
export const Name = z.string().regex(NAME_PATTERN, { error: NAME_RULE });
export type Name = z.infer<typeof Name>;

/** The kinds of objects that a desired state holds, in the order in which they are shown. */
export const KINDS = ['app', 'device_group'] as const;
export type Kind = (typeof KINDS)[number];

/** What identifies an object: apps and groups may share a name. */
export interface ObjectKey {
  kind: Kind;
  name: string;
}

/** Literals, so that keys share them: each key that is put together of kind, slash and name has a copy of its own. */
const PREFIXES: Readonly<Record<Kind, string>> = { app: 'app/', device_group: 'device_group/' };

/** The key as one string, for maps and as the store in MongoDB keeps it: `app/web`, `device_group/edge`. */
export function keyOf(kind: Kind, name: string): string {
  return `${PREFIXES[kind]}${name}`;
}

/** The inverse of `keyOf`. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf('/');
  return { kind: key.slice(0, slash) as Kind, name: key.slice(slash + 1) };
}
