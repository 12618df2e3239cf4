import { DESCRIPTORS } from '../desired/kinds.ts';
import type { Problem } from '../desired/problem.ts';
import { FILE_LIMITS } from '../desired/yaml/document.ts';
import { HoldfastError } from '../errors.ts';
import type { Kind } from '../protocol/name.ts';
import type { Write } from './write.ts';

/** Returns the error of a request about an object that does not exist. */
export function absentError(kind: Kind, name: string): HoldfastError<'absent'> {
  return new HoldfastError('absent', `there is no ${DESCRIPTORS[kind].noun} "${name}"`, { missing: kind });
}

/** Returns the error of a create whose name is taken. */
export function presentError(kind: Kind, name: string): HoldfastError<'present'> {
  const message = `there is a ${DESCRIPTORS[kind].noun} "${name}" already`;
  return new HoldfastError('present', message, { existing: kind });
}

/** How many devices an error names. */
const MOST_DEVICES = 20;

/** Returns the error of a delete of a group that files of devices name. */
export function groupHasDevices(group: string, devices: readonly string[]): HoldfastError<'conflict'> {
  const message = `files of devices name device group "${group}": move these devices to another group first`;
  return new HoldfastError('conflict', message, {
    devices: [...devices].sort().slice(0, MOST_DEVICES),
    devices_total: devices.length,
  });
}

/** Returns the error of a group that lists apps which do not exist; `details.apps` names them. */
export function unknownApps(names: readonly string[]): HoldfastError<'absent'> {
  const message = `there is no app ${names.map((name) => `"${name}"`).join(', ')}`;
  return new HoldfastError('absent', message, { missing: 'app', apps: names });
}

/**
 * Returns the error of a write that the state of the repository does not allow: because of `problems`, or, if there are
 * none, for the reason `otherwise`.
 */
export function blockedError(
  problems: readonly Problem[],
  otherwise = 'the files on the branch do not allow it',
): HoldfastError<'conflict'> {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const message =
    first === undefined ? otherwise : `${first.file}:${first.line}:${first.column}: ${first.message}${more}`;
  return new HoldfastError('conflict', message, problems.length > 0 ? { problems } : {});
}

/** A write would make a file too large to be read again. */
export class FileTooLarge extends HoldfastError<'invalid'> {
  constructor(details: HoldfastError<'invalid'>['details'] = {}) {
    super('invalid', `the file would be too large: ${FILE_LIMITS}`, details);
  }

  /** Returns this error with the field of the write that takes the most space. */
  of(write: Write): FileTooLarge {
    const sizes = Object.entries('fields' in write ? write.fields : { text: 'text' }).map(
      ([field, value]) => [JSON.stringify(value).length, field] as const,
    );
    const [[, largest] = [0, 'text']] = sizes.sort(([a], [b]) => b - a);
    return new FileTooLarge({ invalid_parameters: { [largest]: this.message } });
  }
}

/** Returns the error of a write to a file that is not the one that its client has seen. */
export function fileMoved(blob: string | null): HoldfastError {
  const state = blob === null ? 'there is no file' : `the blob of the file is ${blob}`;
  return new HoldfastError('moved-on', `the file has changed: ${state} now`);
}

/** Returns the error of a request that names a revision which does not exist. */
export function revisionAbsent(): HoldfastError<'absent'> {
  return new HoldfastError('absent', 'there is no such revision', { missing: 'revision' });
}

/** Returns the error of a write to an object that has changed since the revision that its client has seen. */
export function changedSince(base: string, key: string): HoldfastError {
  return new HoldfastError('moved-on', `${key} has changed since revision ${base}`);
}

/** Returns the error of a set's only change; any other error as it is. */
export function ownError(error: unknown): unknown {
  return error instanceof ChangesRefused && error.errors.size === 1 ? [...error.errors.values()][0] : error;
}

/** Some changes of a set cannot be carried out. `errors` has the error of each, by its index in the set. */
export class ChangesRefused extends HoldfastError {
  readonly errors: ReadonlyMap<number, HoldfastError>;

  constructor(errors: ReadonlyMap<number, HoldfastError>) {
    const [[index, first] = [0, undefined]] = errors;
    const kinds = new Set(Array.from(errors.values(), ({ kind }) => kind));
    // A set whose only trouble is the repository's can succeed later.
    const [kind = 'invalid'] = kinds.size === 1 ? kinds : [];
    super(kind, `change ${index} cannot be made: ${first?.message}`);
    this.errors = errors;
  }
}
