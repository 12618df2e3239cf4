import * as z from 'zod';

/** The grammar of references of the distribution project, which every engine follows, part by part. */
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const HOST = `(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9A-Fa-f:]+\\])(?::[0-9]+)?`;
const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const DIGEST = 'sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}';
/** Engines take 64 hex digits for the id of an image, not for a name. */
const REFERENCE = new RegExp(
  `^(?![a-f0-9]{64}$)(?:${HOST}/)?${COMPONENT}(?:/${COMPONENT})*(?::${TAG})?(?:@(?:${DIGEST}))?$`,
);
/** Longest name (host and path) that engines accept. */
const MAX_NAME = 255;

const RULE = 'must be an image reference such as "nginx:1.27" or "registry.example:5000/team/web:2.0"';

/** A reference to an image: `[host[:port]/]path[:tag][@digest]` (docs/contract.md, 2.1). */
export const ImageReference = z
  .string()
  .regex(REFERENCE, { error: ({ input }) => RULE + hintFor(String(input)) })
  .refine((reference) => nameOf(reference).length <= MAX_NAME, {
    error: `must have at most ${MAX_NAME} characters before the tag`,
  });

/** The part before tag and digest. */
function nameOf(reference: string): string {
  return reference.replace(/@.*$/s, '').replace(/:[^:/]*$/, '');
}

/** A hint for frequent mistakes. */
function hintFor(given: string): string {
  if (/^[a-z]+:\/\//i.test(given)) return '; remove what is before the name of the host, such as "https://"';
  if (/\s/.test(given)) return ', without spaces';
  if (given.includes('${')) return '; variables are not replaced here';
  if (/@/.test(given) && !/@sha(256|384|512):/.test(given.toLowerCase()))
    return '; after "@" comes a digest: "sha256:" and 64 hex digits';
  const name = nameOf(given);
  return REFERENCE.test(name.toLowerCase() + given.slice(name.length))
    ? '; write the name in lower case'
    : '';
}
