import type { Diagnostic } from '../desired/diagnostic.ts';
import type { Kind } from '../desired/name.ts';
import { HoldfastError } from '../errors.ts';
import { KIND_NOUNS } from '../plan/describe.ts';

/** The rejection of a call whose object is not there; the detail is the contract's (section 7). */
export function absent(kind: Kind, name: string): HoldfastError {
  return new HoldfastError('absent', `there is no ${KIND_NOUNS[kind]} "${name}"`, {
    [existsField(kind)]: false,
  });
}

/** The rejection of a create for a name that is taken. */
export function present(kind: Kind, name: string): HoldfastError {
  const message = `there is a ${KIND_NOUNS[kind]} "${name}" already`;
  return new HoldfastError('present', message, { [existsField(kind)]: true });
}

/** The rejection of a group that lists apps which do not exist; they are told by name (decisions, "Device groups"). */
export function unknownApps(names: readonly string[]): HoldfastError {
  const message = `there is no app ${names.map((name) => `"${name}"`).join(', ')}`;
  return new HoldfastError('absent', message, { [existsField('app')]: false, apps: names });
}

/** The rejection of a write that the repository's state does not allow; names files and problems. */
export function blocked(problems: readonly Diagnostic[], otherwise: string): HoldfastError {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const message =
    first === undefined ? otherwise : `${first.file}:${first.line}:${first.column}: ${first.message}${more}`;
  return new HoldfastError('conflict', message, problems.length > 0 ? { problems } : {});
}

function existsField(kind: Kind): string {
  return kind === 'app' ? 'app_exists' : 'device_group_exists';
}
