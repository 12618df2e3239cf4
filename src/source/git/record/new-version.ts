import { HoldfastError } from '../../../errors.ts';
import type { SectionDraft } from '../../../ids/ids-record.ts';
import { commands } from '../process/commands.ts';
import { COMMITTER } from '../process/environment.ts';
import { objectId } from '../process/object-ids.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { fastImportData } from '../write/commit-writer.ts';
import { FILE_NAME, MAX_FILE, MAX_SECTIONS, MAX_TOTAL, type Root } from './sections.ts';

/** Protects the objects of a new version from clean-ups until the record's ref names it. */
export const RECORDING_REF = 'refs/holdfast/recording';

/** A new version of the record. */
export interface NewVersion {
  /** Its commit. */
  tip: string;
  /** The tree of the section that was written, which is the section's version. */
  version: string;
}

/** Makes the objects of a version of the record in which one section is new, and all others are those of `root`. */
export async function makeVersion(
  repository: Repository,
  root: Root | null,
  section: string,
  draft: SectionDraft,
): Promise<NewVersion> {
  refuseTooLarge(root, section, draft);
  const base = root === null ? null : await treeOfSections(repository, root);
  const input = importScript(draft, base, section);
  const output = await runGit(repository.context, commands.fastImport(), input);
  const [tip = '', entry = ''] = output.split('\n');
  return { tip: objectId(tip), version: objectId(entry.split(/[ \t]/)[2] ?? '') };
}

/** Throws a `conflict` if the section, or the record, would be too large to be read again. */
function refuseTooLarge(root: Root | null, section: string, { files }: SectionDraft): void {
  const sizes = Array.from(files.values(), (text) => Buffer.byteLength(text));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > MAX_TOTAL || Math.max(0, ...sizes) > MAX_FILE)
    throw new HoldfastError('conflict', 'the record of ids would be too large');
  if (root === null || root.sections.has(section) || root.sections.size < MAX_SECTIONS) return;
  const message = `refs/holdfast/ids holds the ids of ${MAX_SECTIONS} managers, which is the limit; delete the ref, and each running manager writes its ids again`;
  throw new HoldfastError('conflict', message);
}

/**
 * Resolves to a tree with the sections of `root` and nothing else. Objects of a section can be missing, which is for
 * its own manager to notice.
 */
async function treeOfSections({ context }: Repository, { tree, sections, hasMore }: Root): Promise<string> {
  if (!hasMore) return tree;
  const entries = Array.from(sections.values(), ({ mode, name, id }) => {
    const type = mode === '40000' ? 'tree' : mode === '160000' ? 'commit' : 'blob';
    return `${mode} ${type} ${id}\t${name}\0`;
  });
  return objectId((await runGit(context, commands.makeTree(), entries.join(''))).trim());
}

/** The input of `git fast-import`, which prints the id of the commit, and then the entry of the section. */
function importScript(
  { files, at, expected, keepsOtherFiles }: SectionDraft,
  base: string | null,
  section: string,
): string {
  const changes = Array.from(
    files,
    ([name, text]) => `M 100644 inline ${section}/${fileName(name)}\n${fastImportData(text)}`,
  );
  return [
    `reset ${RECORDING_REF}\n`,
    `commit ${RECORDING_REF}`,
    'mark :1',
    `committer ${COMMITTER.name} <${COMMITTER.email}> ${Math.floor(at / 1000)} +0000`,
    fastImportData('Record ids\n'),
    ...(base === null ? [] : [`M 040000 ${base} ""`, `D ${section}`]),
    ...(keepsOtherFiles && expected !== null ? [`M 040000 ${objectId(expected)} ${section}`] : []),
    ...changes,
    // An empty line ends the commit; before that, its mark is not defined.
    '',
    'get-mark :1',
    `ls :1 ${section}`,
    'done\n',
  ].join('\n');
}

function fileName(name: string): string {
  if (FILE_NAME.test(name)) return name;
  throw new HoldfastError('internal', 'not a file of the record');
}
