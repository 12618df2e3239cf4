import { isMapValue } from '../protocol/values.ts';
import { fieldName } from './parse.ts';
import type { TextProblem } from './problem.ts';
import { decodeText, MAX_PROBLEMS, readYaml } from './yaml/document.ts';

/** `${NAME}`, but not `$${NAME}`. */
const VARIABLE = /(?<!\$)\$\{[^{}\n]+\}/;

type Path = readonly (string | number)[];

/**
 * Returns a warning for each value of a file that has a variable such as `${NAME}`, because nothing replaces it. The
 * message does not show it, since the value can be a secret. Returns none for a file that cannot be read.
 */
export function variableWarnings(bytes: Uint8Array): TextProblem[] {
  const text = decodeText(bytes);
  if (!text.ok || !VARIABLE.test(text.value)) return [];
  const document = readYaml(text.value);
  if (!document.ok) return [];
  const { value, positionOf } = document.value;
  return pathsOfVariables(value, [])
    .slice(0, MAX_PROBLEMS)
    .map((path) => ({
      ...positionOf(path),
      code: 'variable-literal',
      message: `${fieldName(path)} contains "\${...}", which containers get as it is: Holdfast replaces no variables`,
    }));
}

function pathsOfVariables(value: unknown, path: Path): Path[] {
  if (typeof value === 'string') return VARIABLE.test(value) ? [path] : [];
  if (Array.isArray(value)) return value.flatMap((item, index) => pathsOfVariables(item, [...path, index]));
  return isMapValue(value)
    ? Object.entries(value).flatMap(([key, item]) => pathsOfVariables(item, [...path, key]))
    : [];
}
