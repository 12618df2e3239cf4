import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { GitCommand } from './commands.ts';
import { type GitContext, GitFailure, hasPipes } from './run.ts';

/** Reads what a process answers, piece by piece. */
export interface AnswerReader {
  /** The text up to the next `end` byte, which is taken too. */
  until(end: number): Promise<string>;
  /** Exactly so many bytes. */
  bytes(count: number): Promise<Buffer>;
}

/** What is talked to: git, or a program that starts git itself and is ended together with all that it started. */
export interface Talker extends GitCommand {
  program?: string;
}

/**
 * A long-lived git process that answers requests in their order. Requests are written at once, so that many
 * can be under way; it is started by the first request and again after it has ended.
 *
 * A request rejects with a GitFailure when the process ends or is silent for longer than the time limit; a
 * request that has not been answered may or may not have been carried out.
 */
export class Conversation {
  readonly #context: GitContext;
  readonly #command: Talker;
  #session: Session | null = null;

  constructor(context: GitContext, command: Talker) {
    this.#context = context;
    this.#command = command;
  }

  async ask<T>(request: string, answer: (reader: AnswerReader) => Promise<T>): Promise<T> {
    const session = this.#running();
    if (session.failure !== null) throw session.failure;
    return session.ask(request, answer);
  }

  /** Starts the process, where it does not run, before there is anything to ask. */
  start(): void {
    this.#running();
  }

  /** Ends the process, with `farewell` as its last input; the next request starts a new one. */
  async close(farewell = ''): Promise<void> {
    const session = this.#session;
    this.#session = null;
    await session?.close(farewell);
  }

  #running(): Session {
    if (this.#session === null || this.#session.failure !== null) {
      this.#session = new Session(this.#context, this.#command);
    }
    return this.#session;
  }
}

/** Milliseconds that a process has to end by itself once its input is closed. */
const CLOSE_LIMIT = 2000;
/** Milliseconds after its end in which what it has written still arrives. */
const DRAIN_LIMIT = 500;
/** Characters that are kept of what it complains of: the last ones. */
const MOST_COMPLAINTS = 10_000;

const ENDED_BY = 'ended by ';

/**
 * Whether a process was ended by a signal that was not ours: of a stop of the whole group of processes, or of a machine
 * short of memory.
 */
export function wasEnded(error: unknown): boolean {
  return error instanceof GitFailure && error.stderr.startsWith(ENDED_BY);
}

class Session implements AnswerReader {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #context: GitContext;
  readonly #command: Talker;
  readonly #chunks: Buffer[] = [];
  /** Bytes of the first chunk that were taken already: a buffer for what is left of it would be made at each answer. */
  #start = 0;
  #size = 0;
  #unsent = '';
  #stderr = '';
  #failure: GitFailure | null = null;
  #isOver = false;
  #wake: (() => void) | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #ended: Promise<void>;
  readonly #isStarted: boolean;

  constructor(context: GitContext, command: Talker) {
    this.#context = context;
    this.#command = command;
    this.#child = spawn(command.program ?? 'git', [...command.args], {
      cwd: context.folder,
      env: { ...context.env },
      stdio: 'pipe',
      // A group of its own, which can be ended as a whole.
      detached: command.program !== undefined,
    });
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
      this.#stderr = (this.#stderr + chunk.toString()).slice(-MOST_COMPLAINTS);
    });
  }

  /** Why it answers no more; null while it does. */
  get failure(): GitFailure | null {
    return this.#failure;
  }

  ask<T>(request: string, answer: (reader: AnswerReader) => Promise<T>): Promise<T> {
    this.#write(request);
    const result = this.#turn.then(() => answer(this));
    this.#turn = result.catch(() => this.#abandon());
    return result;
  }

  /**
   * Requests of the same turn go out as one piece: a buffer and a call of the system for each would cost more than what
   * is asked for.
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
      this.#kill();
    }, CLOSE_LIMIT);
    // Something that left its group can keep these open.
    const letGo = (): void => void setTimeout(() => this.#letGo(), DRAIN_LIMIT).unref();
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.once('exit', letGo);
    else letGo();
    await this.#ended;
    clearTimeout(timer);
  }

  async until(end: number): Promise<string> {
    for (;;) {
      const found = this.#find(end);
      if (found >= 0) return this.#takeLine(found);
      await this.#more();
    }
  }

  async bytes(count: number): Promise<Buffer> {
    while (this.#size < count) await this.#more();
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
    this.#isOver = true;
    this.#wakeUp();
    resolve();
  }

  /** After an answer that was not understood, nothing that follows can be, also what has arrived already. */
  #abandon(): void {
    this.#failure ??= new GitFailure(this.#command, null, 'gave an answer that was not understood');
    this.#chunks.length = 0;
    this.#start = 0;
    this.#size = 0;
    this.#kill();
  }

  /** A git that is started by another program has locks to remove: it is asked first, and `close` does the rest. */
  #kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): void {
    const { pid } = this.#child;
    if (this.#command.program === undefined || pid === undefined) {
      this.#child.kill(signal);
      return;
    }
    // Once it is over, another process can have its number.
    if (this.#isOver) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // It has ended just now.
    }
  }

  #letGo(): void {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #more(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#failure ??= new GitFailure(this.#command, null, `silent for ${this.#context.timeLimit} ms`);
        this.#kill(this.#command.program === undefined ? 'SIGKILL' : 'SIGTERM');
        this.#wakeUp();
      }, this.#context.timeLimit);
      this.#wake = () => {
        clearTimeout(timer);
        if (this.#failure !== null && this.#size === 0) reject(this.#failure);
        else resolve();
      };
    });
  }

  /** How many bytes come before the next one of this value; -1 where it has not arrived. */
  #find(byte: number): number {
    let before = -this.#start;
    for (const [index, chunk] of this.#chunks.entries()) {
      const found = chunk.indexOf(byte, index === 0 ? this.#start : 0);
      if (found >= 0) return before + found;
      before += chunk.length;
    }
    return -1;
  }

  /** So many bytes as text, without the byte that ends them. */
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

  /** Goes on behind so many bytes of the first chunk. */
  #skip(count: number): void {
    this.#size -= count;
    this.#start += count;
    if (this.#start < (this.#chunks[0]?.length ?? 0)) return;
    this.#chunks.shift();
    this.#start = 0;
  }
}
