import { HoldfastError } from '../../../errors.ts';
import type { SectionDraft } from '../../source.ts';
import { commands, objectId } from '../process/commands.ts';
import { COMMITTER } from '../process/environment.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { data } from '../write/commit-writer.ts';
import { FILE_NAME, MAX_FILE, MAX_SECTIONS, MAX_TOTAL, type Root } from './sections.ts';

/** Keeps a version from every clean-up until the record has it. */
const RECORDING_REF = 'refs/holdfast/recording';

/** A version that was made: its commit, and the tree of the section that was written. */
export interface NewVersion {
  tip: string;
  version: string;
}

/** Makes the objects of a version in which one section is new, and all others are those of `root`. */
export async function makeVersion(
  repository: Repository,
  root: Root | null,
  section: string,
  draft: SectionDraft,
): Promise<NewVersion> {
  refuseTooLarge(root, section, draft);
  const base = root === null ? null : await baseOf(repository, root);
  const said = await runGit(repository.context, commands.fastImport(), importOf(draft, base, section));
  const [tip = '', folder = ''] = said.split('\n');
  return { tip: objectId(tip), version: objectId(folder.split(/[ \t]/)[2] ?? '') };
}

/** Nothing is written that would be refused when it is read. */
function refuseTooLarge(root: Root | null, section: string, { files }: SectionDraft): void {
  const sizes = Array.from(files.values(), (text) => Buffer.byteLength(text));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > MAX_TOTAL || Math.max(0, ...sizes) > MAX_FILE)
    throw new HoldfastError('conflict', 'the record of ids would be too large');
  if (root === null || root.sections.has(section) || root.sections.size < MAX_SECTIONS) return;
  const message = `refs/holdfast/ids holds the ids of ${MAX_SECTIONS} managers, which is the limit; delete the ref, and each running manager writes its ids again`;
  throw new HoldfastError('conflict', message);
}

/** A tree with the sections alone. What one of them holds can be missing: that is left to its manager. */
async function baseOf({ context }: Repository, { tree, sections, hasMore }: Root): Promise<string> {
  if (!hasMore) return tree;
  const lines = Array.from(sections.values(), ({ mode, name, id }) => {
    const type = mode === '40000' ? 'tree' : mode === '160000' ? 'commit' : 'blob';
    return `${mode} ${type} ${id}\t${name}\0`;
  });
  return objectId((await runGit(context, commands.makeTree(), lines.join(''))).trim());
}

/** What `git fast-import` is told; it answers with the id of the commit, and with the entry of the section. */
function importOf(
  { files, at, expected, keepsOthers }: SectionDraft,
  base: string | null,
  section: string,
): string {
  const changes = Array.from(
    files,
    ([name, text]) => `M 100644 inline ${section}/${fileName(name)}\n${data(text)}`,
  );
  return [
    `reset ${RECORDING_REF}\n`,
    `commit ${RECORDING_REF}`,
    'mark :1',
    `committer ${COMMITTER.name} <${COMMITTER.email}> ${Math.floor(at / 1000)} +0000`,
    data('Record ids\n'),
    ...(base === null ? [] : [`M 040000 ${base} ""`, `D ${section}`]),
    ...(keepsOthers && expected !== null ? [`M 040000 ${objectId(expected)} ${section}`] : []),
    ...changes,
    // The commit ends here: before that its mark stands for nothing.
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
