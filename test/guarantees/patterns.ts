import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A regular expression in a file, as it is written there. */
export interface Pattern {
  file: string;
  source: string;
  flags: string;
}

/** A call of `RegExp` whose pattern is not written in it; `isConstant` if it runs once, when its file is loaded. */
export interface MadePattern {
  file: string;
  call: string;
  isConstant: boolean;
}

/** Returns every regular expression in the TypeScript files of a folder, as TypeScript's own parser finds them. */
export function patternsIn(folder: string): { written: Pattern[]; made: MadePattern[] } {
  const found = { written: [] as Pattern[], made: [] as MadePattern[] };
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!file.endsWith('.ts')) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    collect(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), file, found);
  }
  return found;
}

function collect(node: ts.Node, file: string, found: ReturnType<typeof patternsIn>): void {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/');
    found.written.push({ file, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
  }
  if (isCallOfRegExp(node)) {
    const [pattern, flags] = node.arguments ?? [];
    if (pattern !== undefined && ts.isStringLiteralLike(pattern))
      found.written.push({ file, source: pattern.text, flags: flags === undefined ? '' : textOf(flags) });
    else found.made.push({ file, call: node.getText(), isConstant: !isInFunction(node) });
  }
  ts.forEachChild(node, (child) => collect(child, file, found));
}

function isCallOfRegExp(node: ts.Node): node is ts.NewExpression | ts.CallExpression {
  return (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp';
}

function textOf(node: ts.Node): string {
  return ts.isStringLiteralLike(node) ? node.text : '';
}

function isInFunction(node: ts.Node): boolean {
  return ts.findAncestor(node, ts.isFunctionLike) !== undefined;
}
