import type { BlamedLine } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';

/** `Reader.blame`. */
export async function readBlame(
  { context, prefix }: Repository,
  revision: string,
  path: string,
): Promise<BlamedLine[]> {
  const full = prefix === '' ? path : `${prefix}/${path}`;
  return parseBlame(await runGit(context, commands.blame(revision, full)));
}

/** Parses `--line-porcelain`: for each line its commit, fields of that commit, and the text after a tab. */
function parseBlame(output: string): BlamedLine[] {
  const lines: BlamedLine[] = [];
  let fields = new Map<string, string>();
  let revision: string | null = null;
  for (const line of output.split('\n').slice(0, -1)) {
    if (revision === null) {
      revision = line.split(' ', 1)[0] ?? '';
      fields = new Map();
    } else if (line.startsWith('\t')) {
      const field = (name: string): string => fields.get(name) ?? '';
      lines.push({
        text: line.slice(1),
        revision,
        author: { name: field('author'), email: field('author-mail').replace(/^<|>$/g, '') },
        committer: field('committer'),
        time: Number(field('committer-time')),
      });
      revision = null;
    } else {
      const [name = ''] = line.split(' ', 1);
      fields.set(name, line.slice(name.length + 1));
    }
  }
  return lines;
}
