import type { AppBuilder } from './builder.ts';
import { shellWords } from './shell-words.ts';
import type { Tree } from './tree.ts';
import { textOf, textsOf } from './values.ts';

/** Reads `command` or `entrypoint`: a list of words, or a text that is split into words. */
export function readWords(field: 'command' | 'entrypoint', tree: Tree, builder: AppBuilder): void {
  const words = wordsOf(field, tree, builder);
  if (words === null) return;
  if (words.length > 0) builder.set(field, words, tree);
  else builder.leaveOut(field, tree, `is empty, which cannot be said here: the image's own ${field} stays`);
}

function wordsOf(field: string, tree: Tree, builder: AppBuilder): string[] | null {
  if (tree.type === 'list') return textsOf(tree, field, builder);
  const split = shellWords(textOf(tree, field, builder) ?? '');
  if (split === null) {
    builder.refuse(
      field,
      tree,
      'has a quote that is not closed, or a parenthesis; write it as a list of words',
    );
    return null;
  }
  if (split.isCut)
    builder.check(
      field,
      tree,
      'ends before the first of ; & | < > here, as in Compose; for a shell write ["sh", "-c", "..."]',
    );
  return split.words;
}
