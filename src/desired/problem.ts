/** Every code that a problem can have. Programs compare codes; messages are for people. */
export const PROBLEM_CODES = [
  'file-too-large',
  'file-not-text',
  'file-symlink',
  'file-submodule',
  'file-unreadable',
  'file-unexpected',
  'file-ignored',
  'file-lfs-pointer',
  'name-invalid',
  'name-duplicate',
  'yaml-syntax',
  'yaml-alias',
  'yaml-tag',
  'yaml-directive',
  'yaml-key',
  'yaml-integer',
  'yaml-depth',
  'field-missing',
  'field-unknown',
  'field-invalid',
  'app-unknown',
  'app-waiting',
  'app-retained',
  'group-unknown',
  'group-waiting',
  'group-retained',
  'port-conflict',
  'mount-conflict',
  'variable-literal',
  'folder-empty',
  'merge-conflict',
] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** An error keeps the object of the file from being applied; a warning changes nothing. */
export type Severity = 'error' | 'warning';

/** A problem in a text, without the name of its file. Line and column count from 1. */
export interface TextProblem {
  line: number;
  column: number;
  code: ProblemCode;
  message: string;
}

/** A problem in a file. The message says what is wrong and what to do; `file` is relative to the folder. */
export interface Problem extends TextProblem {
  file: string;
  severity: Severity;
}

/** Returns a problem of a whole file, placed at its beginning. */
export function fileProblem(code: ProblemCode, message: string): TextProblem {
  return { line: 1, column: 1, code, message };
}

/** Adds the name of the file to a problem of its text. */
export function withFile(file: string, problem: TextProblem, severity: Severity = 'error'): Problem {
  const { line, column, code, message } = problem;
  return { file, line, column, code, message, severity };
}

/** Orders problems by file, then by position, so that the same problems always come in the same order. */
export function compareProblems(a: Problem, b: Problem): number {
  return (
    compareText(a.file, b.file) ||
    a.line - b.line ||
    a.column - b.column ||
    compareText(a.code, b.code) ||
    compareText(a.message, b.message)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
