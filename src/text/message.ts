import { printable } from './printable.ts';

/**
 * Lines at which git's own tools end a message, so that they would not see the trailers after them: `---`, where a patch
 * begins (git-interpret-trailers), and scissors (git-commit).
 */
const END_OF_MESSAGE = /^(?:---(?=\s|$)|\S{1,9} ?-{24} >8 -{24}\s*$)/;

/**
 * Returns a text of somebody else as one line of a commit message. It can add no line, and thereby no trailer; it deceives no
 * reader (`printable`); and git does not take it for the end of the message, since such a line begins with a space.
 */
export function messageLine(text: string): string {
  return guarded(oneLine(text));
}

/** Returns a text of somebody else as paragraphs of a commit message, line by line like `messageLine`. */
export function messageParagraphs(text: string): string {
  const clean = text.split(/\r?\n/).map(oneLine).join('\n').trim();
  return clean.split('\n').map(guarded).join('\n');
}

function oneLine(text: string): string {
  return printable(text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' '));
}

function guarded(line: string): string {
  return END_OF_MESSAGE.test(line) ? ` ${line}` : line;
}
