import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { GitCommand } from './commands.ts';
import { type GitContext, GitFailure, hasPipes, MAX_OUTPUT, OutputTooLarge, startGit } from './run.ts';

/** Reads the answer of a process piece by piece. */
export interface AnswerReader {
  /**
   * Reads the text up to the next `end` byte, and that byte, which is not part of the result. Rejects with an
   * OutputTooLarge once more than `MAX_OUTPUT` bytes have arrived without `end`.
   */
  until(end: number): Promise<string>;
  /** Reads exactly `count` bytes. */
  bytes(count: number): Promise<Buffer>;
}

/**
 * A long-lived git process that answers requests in their order. Requests are sent without waiting for earlier answers.
 * The first request starts the process, and so does the first one after it has ended.
 *
 * A request rejects with a GitFailure if the process ends, or prints nothing for longer than the time limit. Time in which
 * this process was busy and could read nothing does not count. A request without an answer may or may not have been
 * carried out.
 */
export class Conversation {
  readonly #context: GitContext;
  readonly #command: GitCommand;
  #session: Session | null = null;

  constructor(context: GitContext, command: GitCommand) {
    this.#context = context;
    this.#command = command;
  }

  /** Sends a request, and resolves to what `readAnswer` makes of the answer. */
  async ask<T>(request: string, readAnswer: (reader: AnswerReader) => Promise<T>): Promise<T> {
    const session = this.#runningSession();
    if (session.failure !== null) throw session.failure;
    return session.ask(request, readAnswer);
  }

  /** Ends the process, with `farewell` as its last input. The next request starts a new one. */
  async close(farewell = ''): Promise<void> {
    const session = this.#session;
    this.#session = null;
    await session?.close(farewell);
  }

  #runningSession(): Session {
    if (this.#session === null || this.#session.failure !== null) {
      this.#session = new Session(this.#context, this.#command);
    }
    return this.#session;
  }
}

/** Milliseconds in which a process can end by itself after its input was closed. */
const CLOSE_LIMIT = 2000;
/** Milliseconds after its end in which its last output can arrive. */
const DRAIN_LIMIT = 500;
/** The parts of the time limit that are counted while nothing is heard. */
const SLICES = 10;
/** Characters of standard error that are kept, the last ones. */
const MAX_STDERR = 10_000;

const ENDED_BY = 'ended by ';

/**
 * Whether a process was ended by a signal that this process did not send: because the whole process group is stopped,
 * or because the machine has run out of memory.
 */
export function wasKilledByOthers(error: unknown): boolean {
  return error instanceof GitFailure && error.stderr.startsWith(ENDED_BY);
}

/** One process of a conversation, from its start to its end. */
class Session implements AnswerReader {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #context: GitContext;
  readonly #command: GitCommand;
  /** Output that has arrived. */
  readonly #chunks: Buffer[] = [];
  /** Bytes of the first chunk that were read already. Cutting them off would create a buffer for each answer. */
  #start = 0;
  /** Bytes of the output that were not read yet. */
  #size = 0;
  #unsent = '';
  #stderr = '';
  #failure: GitFailure | null = null;
  /** Called when output arrives, or none will any more. */
  #wake: (() => void) | null = null;
  /** Settles once all earlier requests have their answers. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #ended: Promise<void>;
  readonly #isStarted: boolean;

  constructor(context: GitContext, command: GitCommand) {
    this.#context = context;
    this.#command = command;
    const { child } = startGit(context, command);
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      this.#child.on('error', (error) => this.#end(null, String(error), resolve));
      this.#child.on('close', (code, signal) => {
        this.#end(code, `${signal === null ? '' : `${ENDED_BY}${signal} `}${this.#stderr}`, resolve);
      });
    });
    this.#isStarted = hasPipes(this.#child);
    if (!this.#isStarted) {
      this.#failure = new GitFailure(command, null, 'EMFILE: git could not be started');
      return;
    }
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-MAX_STDERR);
    });
  }

  /** Why there will be no more answers; null while the process works. */
  get failure(): GitFailure | null {
    return this.#failure;
  }

  ask<T>(request: string, readAnswer: (reader: AnswerReader) => Promise<T>): Promise<T> {
    this.#write(request);
    const result = this.#turn.then(() => readAnswer(this));
    this.#turn = result.catch(() => this.#abandon());
    return result;
  }

  /**
   * Sends all requests of one turn of the event loop together: a buffer and a system call for each would cost more than
   * git's answer.
   */
  #write(request: string): void {
    if (this.#unsent === '') process.nextTick(() => this.#send());
    this.#unsent += request;
  }

  #send(): void {
    const requests = this.#unsent;
    this.#unsent = '';
    if (requests !== '') this.#child.stdin.write(requests);
  }

  async close(farewell: string): Promise<void> {
    if (!this.#isStarted) return;
    this.#send();
    this.#child.stdin.end(farewell);
    const timer = setTimeout(() => {
      this.#failure ??= new GitFailure(this.#command, null, 'closed');
      this.#child.kill('SIGKILL');
    }, CLOSE_LIMIT);
    // A process that left the group can hold the pipes open.
    const onExit = (): void => void setTimeout(() => this.#closePipes(), DRAIN_LIMIT).unref();
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.once('exit', onExit);
    else onExit();
    await this.#ended;
    clearTimeout(timer);
  }

  async until(end: number): Promise<string> {
    for (let searched = 0; ; ) {
      const length = this.#indexOf(end, searched);
      if (length >= 0) return this.#takeLine(length);
      if (this.#size > MAX_OUTPUT) throw new OutputTooLarge(this.#command);
      searched = this.#size;
      await this.#waitForOutput();
    }
  }

  async bytes(count: number): Promise<Buffer> {
    while (this.#size < count) await this.#waitForOutput();
    return this.#take(count);
  }

  #receive(chunk: Buffer): void {
    if (this.#failure !== null) return;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    this.#wakeUp();
  }

  #end(code: number | null, reason: string, resolve: () => void): void {
    this.#failure ??= new GitFailure(this.#command, code, reason);
    this.#wakeUp();
    resolve();
  }

  /** Gives up: where an answer that was not understood ends, and the next one begins, is unknown. */
  #abandon(): void {
    this.#failure ??= new GitFailure(this.#command, null, 'gave an answer that was not understood');
    this.#chunks.length = 0;
    this.#start = 0;
    this.#size = 0;
    this.#child.kill('SIGKILL');
  }

  #closePipes(): void {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #waitForOutput(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      let slices = 0;
      // However long the event loop is blocked, that takes one slice, and output that came meanwhile is read before the next.
      const timer = setInterval(() => {
        slices += 1;
        if (slices < SLICES) return;
        this.#failure ??= new GitFailure(this.#command, null, `silent for ${this.#context.timeLimit} ms`);
        this.#child.kill('SIGKILL');
        this.#wakeUp();
      }, this.#context.timeLimit / SLICES);
      this.#wake = () => {
        clearInterval(timer);
        if (this.#failure !== null) reject(this.#failure);
        else resolve();
      };
    });
  }

  /** The position of a byte of this value among the unread bytes, from `from` on; -1 if none has arrived. */
  #indexOf(byte: number, from: number): number {
    let before = -this.#start;
    for (const chunk of this.#chunks) {
      const after = before + chunk.length;
      const found = after > from ? chunk.indexOf(byte, Math.max(0, from - before)) : -1;
      if (found >= 0) return before + found;
      before = after;
    }
    return -1;
  }

  /** Takes `length` bytes as text, and drops the byte after them. */
  #takeLine(length: number): string {
    const [first] = this.#chunks;
    const end = this.#start + length;
    if (first === undefined || end >= first.length) return this.#take(length + 1).toString('utf8', 0, length);
    const text = first.toString('utf8', this.#start, end);
    this.#skip(length + 1);
    return text;
  }

  #take(count: number): Buffer {
    const pieces: Buffer[] = [];
    for (let missing = count; missing > 0; ) {
      const first = this.#chunks[0] as Buffer;
      const piece = first.subarray(this.#start, this.#start + missing);
      pieces.push(piece);
      this.#skip(piece.length);
      missing -= piece.length;
    }
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }

  /** Marks this many more bytes of the first chunk as read. */
  #skip(count: number): void {
    this.#size -= count;
    this.#start += count;
    if (this.#start < (this.#chunks[0]?.length ?? 0)) return;
    this.#chunks.shift();
    this.#start = 0;
  }
}
