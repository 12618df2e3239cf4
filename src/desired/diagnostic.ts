/** Every code a problem can have. Programs compare codes; the message is for people. */
export type DiagnosticCode =
  | 'file-too-large'
  | 'file-not-text'
  | 'file-symlink'
  | 'file-submodule'
  | 'file-unreadable'
  | 'file-unexpected'
  | 'file-lfs-pointer'
  | 'name-invalid'
  | 'name-duplicate'
  | 'yaml-syntax'
  | 'yaml-alias'
  | 'yaml-tag'
  | 'yaml-directive'
  | 'yaml-key'
  | 'yaml-integer'
  | 'yaml-depth'
  | 'field-missing'
  | 'field-unknown'
  | 'field-invalid'
  | 'app-unknown'
  | 'app-waiting'
  | 'app-retained'
  | 'folder-empty';

/** An error keeps its object back; a warning changes nothing. */
export type Severity = 'error' | 'warning';

/** A problem of a text, before it is known which file the text is. Line and column count from 1. */
export interface TextProblem {
  line: number;
  column: number;
  code: DiagnosticCode;
  message: string;
}

/** A problem with its place: what is wrong, and what to do about it. `file` is relative to the folder. */
export interface Diagnostic extends TextProblem {
  file: string;
  severity: Severity;
}

/** The problem of a whole file, placed at its beginning. */
export function fileProblem(code: DiagnosticCode, message: string): TextProblem {
  return { line: 1, column: 1, code, message };
}

/** Gives a problem of a text its file. */
export function inFile(file: string, problem: TextProblem, severity: Severity = 'error'): Diagnostic {
  const { line, column, code, message } = problem;
  return { file, line, column, code, message, severity };
}

/** Order of reports: by file, then by place; the same for the same problems, whatever order they were found in. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
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
