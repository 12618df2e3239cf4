import type { Publisher, Reader, Source } from './source.ts';

/** So many files of a commit are read ahead at the most; with more of them a pass takes long anyway. */
const MOST_FILES = 64;
/**
 * Bytes of each; larger ones are read when they are asked for. Together that bounds what is kept until the next write.
 */
const MOST_BYTES = 32 * 1024;

/**
 * The same source, which reads ahead: while git publishes commits, it asks what the pass that applies them will ask. All
 * questions are about object ids, so their answers cannot change in between. An answer is given out once; where something
 * was missing, the repository is asked again.
 */
export function readingAhead(source: Source): Source {
  const { reader, publisher } = source;
  const answers = new Answers();
  let reading: Promise<unknown> = Promise.resolve();
  const publish: Publisher['publish'] = async (base, drafts) => {
    try {
      return await publisher.publish(base, drafts, (commits) => {
        const last = commits.at(-1);
        if (base.revision === null || last === undefined) return;
        answers.clear();
        reading = readAhead(reader, answers, base.revision, last).catch(() => undefined);
      });
    } catch (error) {
      answers.clear();
      throw error;
    }
  };
  const close = async (): Promise<void> => {
    answers.close();
    // A question that came after the end would start git again.
    await reading;
    await source.close();
  };
  return { ...source, reader: readerWith(answers, reader), publisher: { ...publisher, publish }, close };
}

/** Asks what a pass from one commit to another one asks. */
async function readAhead(reader: Reader, answers: Answers, base: string, commit: string): Promise<void> {
  const relation = [
    answers.keep(`common ${base} ${commit}`, reader.commonAncestor(base, commit)),
    answers.keep(`ancestor ${base} ${commit}`, reader.isAncestor(base, commit)),
  ];
  const to = answers.keep(`folder ${commit}`, reader.folder(commit));
  const [before, after] = await Promise.all([reader.folder(base), to]);
  await Promise.allSettled(relation);
  if (before === null || after === null || before === after || answers.isClosed) return;
  const changes = await answers.keep(`changes ${before} ${after}`, reader.changes(before, after));
  const blobs = (changes ?? [])
    .slice(0, MOST_FILES)
    .flatMap(({ entry }) => (entry?.type === 'file' && !answers.isClosed ? entry.blob : []));
  const reads = blobs.map((blob) => answers.keep(`blob ${blob}`, reader.blob(blob, MOST_BYTES)));
  await Promise.allSettled(reads);
}

function readerWith(answers: Answers, reader: Reader): Reader {
  return {
    ...reader,
    folder: (revision) => answers.take(`folder ${revision}`, isThere, () => reader.folder(revision)),
    changes: (from, to) => answers.take(`changes ${from} ${to}`, isThere, () => reader.changes(from, to)),
    blob: (id, maxBytes) =>
      answers.take(
        `blob ${id}`,
        (found) => 'bytes' in found && found.bytes.length <= maxBytes,
        () => reader.blob(id, maxBytes),
      ),
    commonAncestor: (one, other) =>
      answers.take(`common ${one} ${other}`, isThere, () => reader.commonAncestor(one, other)),
    isAncestor: (ancestor, revision) =>
      answers.take(
        `ancestor ${ancestor} ${revision}`,
        (is) => is,
        () => reader.isAncestor(ancestor, revision),
      ),
  };
}

function isThere(answer: unknown): boolean {
  return answer !== null;
}

/** Answers by what was asked. */
class Answers {
  readonly #kept = new Map<string, Promise<unknown>>();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Nothing more is to be asked. */
  close(): void {
    this.#isClosed = true;
    this.clear();
  }

  clear(): void {
    this.#kept.clear();
  }

  keep<T>(question: string, answer: Promise<T>): Promise<T> {
    this.#kept.set(question, answer);
    answer.catch(() => undefined);
    return answer;
  }

  /** The answer that was kept, if it lasts; otherwise what is read now. */
  async take<T>(question: string, lasts: (answer: T) => boolean, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(question) as Promise<T> | undefined;
    if (kept === undefined) return read();
    this.#kept.delete(question);
    const answer = await kept.catch(() => undefined);
    return answer !== undefined && lasts(answer) ? answer : read();
  }
}
