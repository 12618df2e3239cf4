import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commands } from '../../../../src/source/git/process/commands.ts';
import {
  type AnswerReader,
  Conversation,
  type ConversationCommand,
} from '../../../../src/source/git/process/conversation.ts';
import { GitFailure, MAX_OUTPUT, OutputTooLarge } from '../../../../src/source/git/process/run.ts';
import { contextAt, notingGit, repositoryOfFile } from '../support.ts';

const NEWLINE = 0x0a;

const repository = await repositoryOfFile();
const files = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`f${index}`, `text ${index}\n`.repeat(index)]),
);
await repository.commit(files);

const noting = await notingGit();

function talk(command: ConversationCommand = commands.batchObjects(), timeLimit = 60_000): Conversation {
  const conversation = new Conversation(noting.use(contextAt(repository.folder, timeLimit)), command);
  onTestFinished(() => conversation.close());
  return conversation;
}

const line = (reader: AnswerReader): Promise<string> => reader.until(NEWLINE);
const info = (conversation: Conversation, name: string): Promise<string> =>
  conversation.ask(`info ${name}\n`, line);
const pid = async (): Promise<number> => (await noting.last()) ?? 0;

async function contents(conversation: Conversation, name: string): Promise<string> {
  return conversation.ask(`contents ${name}\n`, async (reader) => {
    const size = Number((await line(reader)).split(' ')[2]);
    const bytes = await reader.bytes(size);
    await reader.bytes(1);
    return bytes.toString();
  });
}

function isAlive(process_: number): boolean {
  try {
    return process.kill(process_, 0);
  } catch {
    return false;
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe('a conversation', () => {
  it('answers requests that are all under way in their order', async () => {
    const git = talk();
    const names = Array.from({ length: 500 }, (_, index) => `f${index % 50}`);
    const answers = await Promise.all(names.map((name) => contents(git, `HEAD:${name}`)));
    expect(answers).toEqual(names.map((name) => files[name]));
  });

  it('keeps short and long answers apart', async () => {
    const git = talk();
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

  it('takes a huge answer, which comes in many pieces', async () => {
    const text = `${'x'.repeat(1023)}\n`.repeat(20 * 1024);
    await writeFile(join(repository.folder, '.git/huge'), text);
    const id = await repository.git('hash-object', '-w', '.git/huge');
    const git = talk();
    const [huge, after] = await Promise.all([contents(git, id), info(git, 'HEAD:f0')]);
    expect(huge === text).toBe(true);
    expect(after).toMatch(/ blob 0$/);
  });

  it('uses one process for all requests, and none before the first', async () => {
    const before = await pid();
    const git = talk();
    expect(await pid()).toBe(before);
    await info(git, 'HEAD');
    const first = await pid();
    await info(git, 'HEAD');
    expect(await pid()).toBe(first);
  });
});

describe('a line', () => {
  const shell = (script: string): Conversation => talk({ program: 'sh', args: ['-c', script] });

  it('that comes in pieces, and begins in the middle of one, is read as a whole', async () => {
    const git = shell(
      "read -r x; printf a; sleep 0.1; printf 'b\\nc'; sleep 0.1; printf 'd\\ne\\n'; read -r x",
    );
    const lines = await git.ask('go\n', async (reader) => [
      await line(reader),
      await line(reader),
      await line(reader),
    ]);
    expect(lines).toEqual(['ab', 'cd', 'e']);
  });

  it('of more bytes than memory should hold fails the request', async () => {
    const git = shell(`read -r x; head -c ${MAX_OUTPUT + 1} /dev/zero; read -r x`);
    const failure = git.ask('go\n', line);
    await expect(failure).rejects.toBeInstanceOf(OutputTooLarge);
  });
});

describe('a process that is killed', () => {
  it('fails every request that is under way, and the next one gets a new process', async () => {
    const git = talk();
    await info(git, 'HEAD');
    const first = await pid();
    process.kill(first, 'SIGSTOP');
    const pending = [info(git, 'HEAD'), contents(git, 'HEAD:f1'), info(git, 'HEAD:f2')];
    process.kill(first, 'SIGKILL');
    for (const outcome of await Promise.allSettled(pending))
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(GitFailure) });
    expect(await contents(git, 'HEAD:f1')).toBe('text 1\n');
    expect(await pid()).not.toBe(first);
  });

  it('while it waits for work is replaced', async () => {
    const git = talk();
    await info(git, 'HEAD');
    const first = await pid();
    process.kill(first, 'SIGKILL');
    const isAnswered = (): Promise<boolean> =>
      info(git, 'HEAD').then(
        () => true,
        () => false,
      );
    await expect.poll(isAnswered).toBe(true);
    expect(await pid()).not.toBe(first);
  });

  it('is what becomes of one that is silent for longer than the time limit', async () => {
    const git = talk(commands.batchObjects(), 2000);
    await info(git, 'HEAD');
    const first = await pid();
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

describe('a process that ends by itself', () => {
  it('fails with what it said last', async () => {
    const git = talk(commands.fastImport());
    await expect(git.ask('nonsense\n', line)).rejects.toMatchObject({
      exitCode: 128,
      stderr: expect.stringMatching(/unsupported command: nonsense/i),
    });
  });

  it('does not take away an answer that it gave before', async () => {
    const git = talk(commands.fastImport());
    const answers = await Promise.allSettled([
      git.ask('progress one\n', line),
      git.ask('progress two\nnonsense\n', line),
      git.ask('progress three\n', line),
    ]);
    expect(answers).toMatchObject([
      { value: 'progress one' },
      { value: 'progress two' },
      { status: 'rejected', reason: { exitCode: 128 } },
    ]);
  });

  it('because there is no git fails the request, and nothing else', async () => {
    const git = new Conversation(
      { ...contextAt(repository.folder), env: { PATH: '/nonexistent' } },
      commands.batchObjects(),
    );
    await expect(info(git, 'HEAD')).rejects.toThrow(GitFailure);
    await expect(info(git, 'HEAD')).rejects.toThrow(GitFailure);
    await git.close();
  });

  it('because the folder is gone fails the request, and nothing else', async () => {
    const git = new Conversation(contextAt('/nonexistent'), commands.batchObjects());
    await expect(Promise.all([info(git, 'HEAD'), info(git, 'HEAD')])).rejects.toThrow(GitFailure);
    await git.close();
  });
});

describe('an answer that is not understood', () => {
  const confused = (reader: AnswerReader): Promise<string> =>
    line(reader).then(() => {
      throw new Error('not understood');
    });

  it('rejects with the reason, and fails what was asked after it instead of mixing up answers', async () => {
    const git = talk();
    const outcomes = await Promise.allSettled([
      info(git, 'HEAD:f0'),
      git.ask('contents HEAD:f9\n', confused),
      info(git, 'HEAD:f1'),
      info(git, 'HEAD:f2'),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { message: 'not understood' } },
      { status: 'rejected', reason: expect.any(GitFailure) },
      { status: 'rejected', reason: expect.any(GitFailure) },
    ]);
  });

  it('fails what was asked after it also when its answer is there already', async () => {
    const git = talk();
    let goOn = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const first = git.ask('contents HEAD:f9\n', async (reader) => {
      await line(reader);
      await waits;
      throw new Error('not understood');
    });
    const second = git.ask('info HEAD:f1\n', line);
    const all = Promise.allSettled([first, second]);
    // Everything was answered long ago when the first one gives up.
    await info(talk(), 'HEAD');
    goOn();
    expect(await all).toMatchObject([
      { status: 'rejected', reason: { message: 'not understood' } },
      { status: 'rejected', reason: expect.any(GitFailure) },
    ]);
  });

  it('costs the process, and the next request gets a new one', async () => {
    const git = talk();
    await expect(git.ask('info HEAD\n', confused)).rejects.toThrow('not understood');
    const first = await pid();
    expect(await contents(git, 'HEAD:f1')).toBe('text 1\n');
    expect(await pid()).not.toBe(first);
    await expect.poll(() => isAlive(first)).toBe(false);
  });
});

describe('close', () => {
  it('ends the process', async () => {
    const git = talk();
    await info(git, 'HEAD');
    const first = await pid();
    await git.close();
    expect(isAlive(first)).toBe(false);
  });

  it('lets requests under way be answered', async () => {
    const git = talk();
    const pending = Array.from({ length: 50 }, (_, index) => contents(git, `HEAD:f${index}`));
    await git.close();
    expect(await Promise.all(pending)).toEqual(Object.values(files));
  });

  it.each([
    { name: 'before the first request', requests: 0, closes: 1 },
    { name: 'twice', requests: 1, closes: 2 },
  ])('$name does nothing', async ({ requests, closes }) => {
    const git = talk();
    for (let count = 0; count < requests; count++) await info(git, 'HEAD');
    for (let count = 0; count < closes; count++) await git.close();
  });

  it('is followed by a new process when there is a new request', async () => {
    const git = talk();
    await info(git, 'HEAD');
    await git.close();
    expect(await contents(git, 'HEAD:f1')).toBe('text 1\n');
  });

  it('kills a process that does not end', async () => {
    const git = talk();
    await info(git, 'HEAD');
    const first = await pid();
    process.kill(first, 'SIGSTOP');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const closed = git.close();
    vi.advanceTimersByTime(2000);
    await closed;
    expect(isAlive(first)).toBe(false);
  });
});
