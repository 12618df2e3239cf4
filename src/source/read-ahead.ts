import type { Publisher, Reader, Source } from './source.ts';

/** The most files of a commit that are read ahead; a pass over more of them takes long anyway. */
const MAX_FILES = 64;
/** Bytes; larger files are not read ahead. Both limits bound the memory that answers hold until the next write. */
const MAX_BYTES = 32 * 1024;

/**
 * Wraps a source so that it reads ahead: while git publishes commits, it already requests what the pass that applies
 * them will need. These requests name objects by id, so their answers cannot become outdated. Each answer is used once.
 * If something was missing, the answer is dropped, and the repository is asked again.
 */
export function withReadAhead(source: Source): Source {
  const { reader, publisher } = source;
  const answers = new AnswerCache();
  let reading: Promise<unknown> = Promise.resolve();
  const publish: Publisher['publish'] = async (base, drafts) => {
    try {
      return await publisher.publish(base, drafts, (commits) => {
        const last = commits.at(-1);
        if (base.revision === null || last === undefined) return;
        answers.clear();
        const earlier = reading;
        reading = readAhead(reader, answers, base.revision, last)
          .catch(() => undefined)
          .then(() => earlier);
      });
    } catch (error) {
      answers.clear();
      throw error;
    }
  };
  const close = async (): Promise<void> => {
    // A request after the reader is closed would start git again.
    await reading;
    await source.close();
  };
  return { ...source, reader: readerWith(answers, reader), publisher: { ...publisher, publish }, close };
}

/** Makes the requests of a pass that goes from `base` to `commit`. */
async function readAhead(reader: Reader, answers: AnswerCache, base: string, commit: string): Promise<void> {
  const ancestry = [
    answers.put(`common ${base} ${commit}`, reader.commonAncestor(base, commit)),
    answers.put(`ancestor ${base} ${commit}`, reader.isAncestor(base, commit)),
  ];
  const to = answers.put(`folder ${commit}`, reader.folderTree(commit));
  const [before, after] = await Promise.all([reader.folderTree(base), to]);
  await Promise.allSettled(ancestry);
  if (before === null || after === null) return;
  const changes = await answers.put(`changes ${before} ${after}`, reader.changes(before, after));
  const blobs = (changes ?? [])
    .slice(0, MAX_FILES)
    .flatMap(({ entry }) => (entry?.type === 'file' ? entry.blob : []));
  const reads = blobs.map((blob) => answers.put(`blob ${blob}`, reader.blob(blob, MAX_BYTES)));
  await Promise.allSettled(reads);
}

function readerWith(answers: AnswerCache, reader: Reader): Reader {
  return {
    ...reader,
    folderTree: (revision) => answers.take(`folder ${revision}`, isFound, () => reader.folderTree(revision)),
    changes: (from, to) => answers.take(`changes ${from} ${to}`, isFound, () => reader.changes(from, to)),
    blob: (id, maxBytes) =>
      answers.take(
        `blob ${id}`,
        (found) => 'bytes' in found && found.bytes.length <= maxBytes,
        () => reader.blob(id, maxBytes),
      ),
    commonAncestor: (one, other) =>
      answers.take(`common ${one} ${other}`, isFound, () => reader.commonAncestor(one, other)),
    isAncestor: (ancestor, revision) =>
      answers.take(
        `ancestor ${ancestor} ${revision}`,
        (isAncestor) => isAncestor,
        () => reader.isAncestor(ancestor, revision),
      ),
  };
}

function isFound(answer: unknown): boolean {
  return answer !== null;
}

/** Answers of a reader, each by a text that identifies the request. */
class AnswerCache {
  readonly #answers = new Map<string, Promise<unknown>>();

  clear(): void {
    this.#answers.clear();
  }

  /** Stores an answer and returns it. */
  put<T>(request: string, answer: Promise<T>): Promise<T> {
    this.#answers.set(request, answer);
    answer.catch(() => undefined);
    return answer;
  }

  /** Removes and resolves to the stored answer if it `isUsable`; otherwise reads now. */
  async take<T>(request: string, isUsable: (answer: T) => boolean, read: () => Promise<T>): Promise<T> {
    const stored = this.#answers.get(request) as Promise<T> | undefined;
    if (stored === undefined) return read();
    this.#answers.delete(request);
    const answer = await stored.catch(() => undefined);
    return answer !== undefined && isUsable(answer) ? answer : read();
  }
}
