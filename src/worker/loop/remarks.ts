import type { Parts } from '../parts.ts';
import type { Actual, Foreign } from '../plan/model.ts';
import type { Problems } from './problems.ts';

/** Says what the engine does not say although it answers. */
export function noteUnclear({ logger }: Parts, problems: Problems, { blind, unclear }: Actual): void {
  const texts = [...(blind === null ? [] : [blind]), ...unclear.values()];
  const text = texts.join('; ');
  if (texts.length === 0) problems.clear('engine-unavailable');
  else if (problems.note('engine-unavailable', text))
    logger.warn({ reason: text }, 'the container engine answers in part');
}

/** Names containers that look like those of this worker, or of Nebula's, and are left alone. */
export function noteForeign({ logger }: Parts, problems: Problems, { foreign }: Actual): void {
  const namesOf = (kind: Foreign['looksLike']): string =>
    foreign
      .flatMap(({ name, looksLike }) => (looksLike === kind ? [name] : []))
      .toSorted()
      .join(', ');
  const texts = [
    ["the device group has no app of these containers of Nebula's worker", namesOf('nebula')],
    ['these containers have labels of this worker, but no name that it gives', namesOf('own')],
  ].flatMap(([what, names]) => (names === '' ? [] : [`${what}: ${names}`]));
  const text = texts.join('; ');
  if (texts.length === 0) problems.clear('foreign-containers');
  else if (problems.show('foreign-containers', text)) logger.warn(text);
}
