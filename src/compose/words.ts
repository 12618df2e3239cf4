import type { AppDraft } from './draft.ts';
import { shellWords } from './shell-words.ts';
import type { Tree } from './tree.ts';
import { textOf, textsOf } from './values.ts';

/** Reads `command` or `entrypoint`: a list of words, or a text that is split into words. */
export function readWords(field: 'command' | 'entrypoint', tree: Tree, draft: AppDraft): void {
  const words = wordsOf(field, tree, draft);
  if (words === null) return;
  if (words.length > 0) draft.set(field, words, tree);
  else draft.leaveOut(field, tree, `is empty, which cannot be said here: the image's own ${field} stays`);
}

function wordsOf(field: string, tree: Tree, draft: AppDraft): string[] | null {
  if (tree.type === 'list') return textsOf(tree, field, draft);
  const split = shellWords(textOf(tree, field, draft) ?? '');
  if (split === null) {
    draft.refuse(
      field,
      tree,
      'has a quote that is not closed, or a parenthesis; write it as a list of words',
    );
    return null;
  }
  if (split.isCut)
    draft.check(
      field,
      tree,
      'ends before the first of ; & | < > here, as in Compose; for a shell write ["sh", "-c", "..."]',
    );
  return split.words;
}
