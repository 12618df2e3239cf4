import { HoldfastError } from '../../../errors.ts';

/** The hash that a repository makes ids with: they have 40 hexadecimal digits, or 64. */
export type ObjectFormat = 'sha1' | 'sha256';

const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** Returns the text if it is a full object id; otherwise throws an `internal` error. */
export function objectId(text: string): string {
  if (OBJECT_ID.test(text)) return text;
  throw new HoldfastError('internal', 'not an object id');
}

/** Returns the id of all zeros, which stands for no object, in the same length as the given id. */
export function nullIdLike(id: string): string {
  return '0'.repeat(id.length);
}

const EMPTY_TREES: readonly string[] = [
  '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
];

/** Returns the id of the empty tree, in the same length as the given id. */
export function emptyTreeIdLike(id: string): string {
  return EMPTY_TREES.find((tree) => tree.length === objectId(id).length) as string;
}
