import type { Position } from '../desired/yaml/document.ts';
import type { Note, Notes } from './notes.ts';

/** Where the value of a variable comes from: the environment of this process, or a line of `.env`. */
export interface Variable {
  value: string;
  foundIn: string;
}

/** Returns a variable; undefined if it is not set. */
export type Lookup = (name: string) => Variable | undefined;

/** What replaces variables, and what it has to say. */
export interface Interpolation {
  lookup: Lookup;
  /** Called for each variable whose value becomes part of the text. */
  onUse(name: string, variable: Variable): void;
  /** Called for each variable without a value or a default. */
  onUnset(name: string): void;
  /** Called with what is wrong with the text, or with the message of `${NAME:?message}`. */
  onError(message: string): void;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*/;
const OPERATOR = /^:?[-?+]/;

/**
 * Replaces variables as Compose does: `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME-default}`, `${NAME:?message}`,
 * `${NAME?message}`, `${NAME:+other}`, `${NAME+other}`, also within one another; `$$` is a dollar sign.
 */
export function interpolate(text: string, how: Interpolation): string {
  let result = '';
  let at = 0;
  for (let dollar = text.indexOf('$'); dollar !== -1; dollar = text.indexOf('$', at)) {
    result += text.slice(at, dollar);
    const { value, length } = replace(text.slice(dollar), how);
    result += value;
    at = dollar + length;
  }
  return result + text.slice(at);
}

interface Replacement {
  value: string;
  /** How many characters of the text it replaces. */
  length: number;
}

/** Replaces what a text begins with, which is a dollar sign. */
function replace(text: string, how: Interpolation): Replacement {
  if (text.startsWith('$$')) return { value: '$', length: 2 };
  if (text.startsWith('${')) {
    const end = closingBrace(text);
    if (end !== -1) return { value: braced(text.slice(2, end), how), length: end + 1 };
    how.onError('has a variable without its closing brace; write "$$" for a dollar sign');
    return { value: text, length: text.length };
  }
  const [name] = NAME.exec(text.slice(1)) ?? [];
  if (name !== undefined) return { value: resolve(name, how), length: 1 + name.length };
  how.onError('has a "$" that begins no variable; write "$$" for a dollar sign');
  return { value: '$', length: 1 };
}

/** The position of the `}` that ends the `${` at the start of a text; -1 if there is none. */
function closingBrace(text: string): number {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.startsWith('${', at)) open += 1;
    else if (text[at] === '}') open -= 1;
    if (open === 0 && text[at] === '}') return at;
  }
  return -1;
}

function braced(inside: string, how: Interpolation): string {
  const [name = ''] = NAME.exec(inside) ?? [];
  const rest = inside.slice(name.length);
  const [operator] = OPERATOR.exec(rest) ?? [];
  if (name === '' || (rest !== '' && operator === undefined)) {
    how.onError('has braces behind a "$" that hold no variable; write "$$" for a dollar sign');
    return '';
  }
  if (operator === undefined) return resolve(name, how);
  return withOperator(name, operator, rest.slice(operator.length), how);
}

function withOperator(name: string, operator: string, word: string, how: Interpolation): string {
  const variable = how.lookup(name);
  // With a colon, an empty value counts as none.
  const isSet = variable !== undefined && !(operator.startsWith(':') && variable.value === '');
  if (operator.endsWith('+')) return isSet ? interpolate(word, how) : '';
  if (isSet) return resolve(name, how);
  if (operator.endsWith('-')) return interpolate(word, how);
  how.onError(`needs the variable ${name}${word === '' ? '' : `: ${interpolate(word, how)}`}`);
  // Nothing is written, and this fits where a version, a port or a number belongs: so it causes no further errors.
  return '1';
}

function resolve(name: string, how: Interpolation): string {
  const variable = how.lookup(name);
  if (variable === undefined) {
    how.onUnset(name);
    return '';
  }
  how.onUse(name, variable);
  return variable.value;
}

/** A variable whose value became part of the result. */
export interface UsedVariable {
  name: string;
  /** Where its value comes from, such as `.env:3`. */
  foundIn: string;
  /** Where it is used. */
  lines: number[];
}

/** Records which variables a file uses, and adds notes about the others. */
export class VariableUse {
  readonly #used = new Map<string, UsedVariable>();
  readonly lookup: Lookup;
  readonly #notes: Notes;

  constructor(lookup: Lookup, notes: Notes) {
    this.lookup = lookup;
    this.#notes = notes;
  }

  /** The variables that have been used, in the order of their first use. */
  get list(): UsedVariable[] {
    return [...this.#used.values()];
  }

  /** Replaces the variables in a text of the Compose file. */
  replace(text: string, place: Position): string {
    if (!text.includes('$')) return text;
    return interpolate(text, {
      lookup: this.lookup,
      onUse: (name, variable) => this.note(name, variable, place),
      onUnset: (name) => this.#notes.add('check', `$${name}`, place, UNSET),
      onError: (message) => this.#notes.add('error', 'value', place, message),
    });
  }

  /** Returns a variable that a service takes over by its name alone, and notes its use. */
  take(name: string, place: Position): string | undefined {
    const variable = this.lookup(name);
    if (variable !== undefined) this.note(name, variable, place);
    return variable?.value;
  }

  note(name: string, { foundIn }: Variable, { line }: Position): void {
    const used = this.#used.get(name) ?? { name, foundIn, lines: [] };
    if (!used.lines.includes(line)) used.lines.push(line);
    this.#used.set(name, used);
  }
}

/** Whether a note is about a variable that is set nowhere, which often is the cause of errors. */
export function isAboutUnset({ message }: Note): boolean {
  return message === UNSET || message === UNSET_IN_FILE;
}

/** What is said of a variable of a file; it is named itself, since the name behind a dollar sign may be part of a password. */
export const UNSET_IN_FILE =
  'uses a variable that is set nowhere, so that part is empty, as Compose makes it; set it, or put the value in single quotes if the dollar sign is part of it';
const UNSET =
  'is set nowhere, so it is empty, as Compose makes it; set it in .env beside the file, or give it a default after ":-"';
