import type { EntryType, TreeEntry } from '../../../desired/entry.ts';
import type { TreeChange } from '../../../ids/ids-reader.ts';

/** The type of an entry by its mode in a tree: besides these two, valid trees have only files and trees. */
export function entryType(mode: string): EntryType {
  if (mode === '120000') return 'symlink';
  return mode === '160000' ? 'submodule' : 'file';
}

/** Parses `ls-tree -r -z`: `<mode> SP <type> SP <id> TAB <path> NUL`. */
export function parseTreeList(output: string): TreeEntry[] {
  return parseLines(output, ([mode = '', , blob = ''], path) => ({ path, type: entryType(mode), blob }));
}

/** Parses `ls-files -t --stage -z`: `<letter> SP <mode> SP <id> SP <stage> TAB <path> NUL`. */
export function parseIndexList(output: string): (TreeEntry & { letter: string })[] {
  return parseLines(output, ([letter = '', mode = '', blob = ''], path) => {
    return { path, type: entryType(mode), blob, letter };
  });
}

/** Parses `<field> SP <field> ... TAB <path> NUL`. */
function parseLines<T>(output: string, parse: (fields: string[], path: string) => T): T[] {
  const lines = output.split('\0').filter((line) => line !== '');
  return lines.map((line) => {
    const tab = line.indexOf('\t');
    return parse(line.slice(0, tab).split(' '), line.slice(tab + 1));
  });
}

/**
 * Parses the two fields of a change from `diff-tree -r -z --raw`: `meta`, which is
 * `:<old mode> SP <new mode> SP <old id> SP <new id> SP <status>`, and the path.
 */
export function parseTreeChange(meta: string, path: string): TreeChange {
  const [, mode = '', , blob = '', status = ''] = meta.split(' ');
  return { path, entry: status.startsWith('D') ? null : { path, type: entryType(mode), blob } };
}
