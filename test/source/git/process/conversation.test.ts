import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commands, type GitCommand } from '../../../../src/source/git/process/commands.ts';
import { type AnswerReader, Conversation } from '../../../../src/source/git/process/conversation.ts';
import { GitFailure, MAX_OUTPUT, OutputTooLarge } from '../../../../src/source/git/process/run.ts';
import { contextAt, machineWith, notingGit, repositoryOfFile } from '../support.ts';

const NEWLINE = 0x0a;

const repository = await repositoryOfFile();
const files = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`f${index}`, `text ${index}\n`.repeat(index)]),
);
await repository.commit(files);

const recorder = await notingGit();

/** A conversation that is closed when the test is over. */
function openConversation(command: GitCommand = commands.batchObjects(), timeLimit = 60_000): Conversation {
  const conversation = new Conversation(recorder.use(contextAt(repository.folder, timeLimit)), command);
  onTestFinished(() => conversation.close());
  return conversation;
}

const readLine = (reader: AnswerReader): Promise<string> => reader.until(NEWLINE);
const info = (conversation: Conversation, name: string): Promise<string> =>
  conversation.ask(`info ${name}\n`, readLine);
/** The id of the process that was started last. */
const lastPid = async (): Promise<number> => (await recorder.last()) ?? 0;

/** Asks for the text of an object. */
async function contents(conversation: Conversation, name: string): Promise<string> {
  return conversation.ask(`contents ${name}\n`, async (reader) => {
    const size = Number((await readLine(reader)).split(' ')[2]);
    const bytes = await reader.bytes(size);
    await reader.bytes(1);
    return bytes.toString();
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe('a conversation', () => {
  it('answers concurrent requests in their order', async () => {
    const git = openConversation();
    const names = Array.from({ length: 500 }, (_, index) => `f${index % 50}`);
    const answers = await Promise.all(names.map((name) => contents(git, `HEAD:${name}`)));
    expect(answers).toEqual(names.map((name) => files[name]));
  });

  it('keeps short and long answers apart', async () => {
    const git = openConversation();
    const [short, long, missing, again] = await Promise.all([
      info(git, 'HEAD:f0'),
      contents(git, 'HEAD:f49'),
      info(git, 'HEAD:none'),
      contents(git, 'HEAD:f1'),
    ]);
    expect([short.split(' ').slice(1), long, missing, again]).toEqual([
      ['blob', '0'],
      files['f49'],
      'HEAD:none missing',
      'text 1\n',
    ]);
  });

  it('reads an answer of many megabytes, which arrives in many pieces', async () => {
    const text = `${'x'.repeat(1023)}\n`.repeat(20 * 1024);
    await writeFile(join(repository.folder, '.git/huge'), text);
    const id = await repository.git('hash-object', '-w', '.git/huge');
    const git = openConversation();
    const [huge, after] = await Promise.all([contents(git, id), info(git, 'HEAD:f0')]);
    expect(huge === text).toBe(true);
    expect(after).toMatch(/ blob 0$/);
  });

  it('uses one process for all requests, and none before the first', async () => {
    const before = await lastPid();
    const git = openConversation();
    expect(await lastPid()).toBe(before);
    await info(git, 'HEAD');
    const first = await lastPid();
    await info(git, 'HEAD');
    expect(await lastPid()).toBe(first);
  });
});

describe('until', () => {
  /** A conversation with a git that runs these lines of shell instead. */
  const shell = async (script: string): Promise<Conversation> => {
    const { env } = await machineWith(`${script}; exit`);
    const git = new Conversation(
      { ...contextAt(repository.folder), env: env as Record<string, string> },
      commands.batchObjects(),
    );
    onTestFinished(() => git.close());
    return git;
  };

  it('reads a line that arrives in several pieces, or starts in the middle of one', async () => {
    const git = await shell(
      "read -r x; printf a; sleep 0.1; printf 'b\\nc'; sleep 0.1; printf 'd\\ne\\n'; read -r x",
    );
    const lines = await git.ask('go\n', async (reader) => [
      await readLine(reader),
      await readLine(reader),
      await readLine(reader),
    ]);
    expect(lines).toEqual(['ab', 'cd', 'e']);
  });

  it('rejects if a line is longer than the limit of output', async () => {
    const git = await shell(`read -r x; head -c ${MAX_OUTPUT + 1} /dev/zero; read -r x`);
    const failure = git.ask('go\n', readLine);
    await expect(failure).rejects.toBeInstanceOf(OutputTooLarge);
  });
});

describe('a conversation whose process is killed', () => {
  it('rejects all requests under way, and starts a new process for the next one', async () => {
    const git = openConversation();
    await info(git, 'HEAD');
    const first = await lastPid();
    process.kill(first, 'SIGSTOP');
    const pending = [info(git, 'HEAD'), contents(git, 'HEAD:f1'), info(git, 'HEAD:f2')];
    process.kill(first, 'SIGKILL');
    for (const outcome of await Promise.allSettled(pending))
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(GitFailure) });
    expect(await contents(git, 'HEAD:f1')).toBe('text 1\n');
    expect(await lastPid()).not.toBe(first);
  });

  it('starts a new process if it was idle', async () => {
    const git = openConversation();
    await info(git, 'HEAD');
    const first = await lastPid();
    process.kill(first, 'SIGKILL');
    const isAnswered = (): Promise<boolean> =>
      info(git, 'HEAD').then(
        () => true,
        () => false,
      );
    await expect.poll(isAnswered).toBe(true);
    expect(await lastPid()).not.toBe(first);
  });

  it('has killed the process itself if it was silent for longer than the time limit', async () => {
    const git = openConversation(commands.batchObjects(), 2000);
    await info(git, 'HEAD');
    const first = await lastPid();
    process.kill(first, 'SIGSTOP');
    const failures = await Promise.allSettled([info(git, 'HEAD'), info(git, 'HEAD')]);
    expect(failures).toMatchObject([
      { status: 'rejected', reason: { stderr: 'silent for 2000 ms' } },
      { status: 'rejected', reason: { stderr: 'silent for 2000 ms' } },
    ]);
    await expect.poll(() => isAlive(first)).toBe(false);
    expect(await info(git, 'HEAD')).toMatch(/ commit /);
  });
});

it('a conversation does not count the time in which nobody could read an answer as silence', async () => {
  const git = openConversation(commands.batchObjects(), 1000);
  await info(git, 'HEAD');
  const first = await lastPid();
  const answer = info(git, 'HEAD:f1');
  await new Promise(setImmediate);
  process.kill(first, 'SIGSTOP');
  // Asks once more, so that a request is waiting for sure while the event loop is blocked.
  const late = info(git, 'HEAD:f2');
  await new Promise(setImmediate);
  const end = performance.now() + 3000;
  while (performance.now() < end);
  process.kill(first, 'SIGCONT');
  expect(await answer).toMatch(/ blob /);
  expect(await late).toMatch(/ blob /);
  expect(await lastPid()).toBe(first);
});

describe('a conversation whose process ends by itself', () => {
  it('rejects the request with the exit code and the error output', async () => {
    const git = openConversation(commands.fastImport());
    await expect(git.ask('nonsense\n', readLine)).rejects.toMatchObject({
      exitCode: 128,
      stderr: expect.stringMatching(/unsupported command: nonsense/i),
    });
  });

  it('still returns the answers that arrived before the end', async () => {
    const git = openConversation(commands.fastImport());
    const answers = await Promise.allSettled([
      git.ask('progress one\n', readLine),
      git.ask('progress two\nnonsense\n', readLine),
      git.ask('progress three\n', readLine),
    ]);
    expect(answers).toMatchObject([
      { value: 'progress one' },
      { value: 'progress two' },
      { status: 'rejected', reason: { exitCode: 128 } },
    ]);
  });

  it('rejects every request if git is not installed', async () => {
    const git = new Conversation(
      { ...contextAt(repository.folder), env: { PATH: '/nonexistent' } },
      commands.batchObjects(),
    );
    await expect(info(git, 'HEAD')).rejects.toThrow(GitFailure);
    await expect(info(git, 'HEAD')).rejects.toThrow(GitFailure);
    await git.close();
  });

  it('rejects every request if the folder is missing', async () => {
    const git = new Conversation(contextAt('/nonexistent'), commands.batchObjects());
    await expect(Promise.all([info(git, 'HEAD'), info(git, 'HEAD')])).rejects.toThrow(GitFailure);
    await git.close();
  });
});

describe('an answer that cannot be parsed', () => {
  const failToParse = (reader: AnswerReader): Promise<string> =>
    readLine(reader).then(() => {
      throw new Error('cannot parse');
    });

  it('rejects its request with the reason, and all later ones, whose answers could be mixed up', async () => {
    const git = openConversation();
    const outcomes = await Promise.allSettled([
      info(git, 'HEAD:f0'),
      git.ask('contents HEAD:f9\n', failToParse),
      info(git, 'HEAD:f1'),
      info(git, 'HEAD:f2'),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { message: 'cannot parse' } },
      { status: 'rejected', reason: expect.any(GitFailure) },
      { status: 'rejected', reason: expect.any(GitFailure) },
    ]);
  });

  it('rejects later requests even if their answers have already arrived', async () => {
    const git = openConversation();
    let fail = (): void => undefined;
    const failing = new Promise<void>((resolve) => {
      fail = resolve;
    });
    const first = git.ask('contents HEAD:f9\n', async (reader) => {
      await readLine(reader);
      await failing;
      throw new Error('cannot parse');
    });
    const second = git.ask('info HEAD:f1\n', readLine);
    const all = Promise.allSettled([first, second]);
    // By the time another process has started and answered, git has usually answered both requests.
    await info(openConversation(), 'HEAD');
    fail();
    expect(await all).toMatchObject([
      { status: 'rejected', reason: { message: 'cannot parse' } },
      { status: 'rejected', reason: expect.any(GitFailure) },
    ]);
  });

  it('ends the process; the next request gets a new one', async () => {
    const git = openConversation();
    await expect(git.ask('info HEAD\n', failToParse)).rejects.toThrow('cannot parse');
    const first = await lastPid();
    expect(await contents(git, 'HEAD:f1')).toBe('text 1\n');
    expect(await lastPid()).not.toBe(first);
    await expect.poll(() => isAlive(first)).toBe(false);
  });
});

describe('close', () => {
  it('ends the process', async () => {
    const git = openConversation();
    await info(git, 'HEAD');
    const first = await lastPid();
    await git.close();
    expect(isAlive(first)).toBe(false);
  });

  it('waits until requests under way are answered', async () => {
    const git = openConversation();
    const pending = Array.from({ length: 50 }, (_, index) => contents(git, `HEAD:f${index}`));
    await git.close();
    expect(await Promise.all(pending)).toEqual(Object.values(files));
  });

  it.each([
    ['before the first request', 0, 1],
    ['for the second time', 1, 2],
  ])('does nothing %s', async (_, requests, closes) => {
    const git = openConversation();
    for (let count = 0; count < requests; count++) await info(git, 'HEAD');
    for (let count = 0; count < closes; count++) await git.close();
  });

  it('does not prevent a later request, which starts a new process', async () => {
    const git = openConversation();
    await info(git, 'HEAD');
    await git.close();
    expect(await contents(git, 'HEAD:f1')).toBe('text 1\n');
  });

  it('kills a process that does not end by itself', async () => {
    const git = openConversation();
    await info(git, 'HEAD');
    const first = await lastPid();
    process.kill(first, 'SIGSTOP');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const closed = git.close();
    vi.advanceTimersByTime(2000);
    await closed;
    expect(isAlive(first)).toBe(false);
  });
});
