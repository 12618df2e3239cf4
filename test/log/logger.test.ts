import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { createLogger } from '../../src/log/logger.ts';
import { SECRET_SETTINGS } from '../../src/settings/table.ts';

interface Output {
  out: PassThrough;
  /** Everything that was written so far. */
  text(): string;
  /** The lines of JSON that were written so far. */
  lines(): Record<string, unknown>[];
}

/** A stream that collects what is written to it; `terminal` has the properties by which a terminal is recognized. */
function collect(terminal: { isTTY?: boolean; hasColors?: () => boolean } = {}): Output {
  const out = Object.assign(new PassThrough(), terminal);
  let text = '';
  out.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const lines = (): Record<string, unknown>[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { out, text: () => text, lines };
}

/** Has control characters, which terminals obey, and characters that reverse or break text. */
const HOSTILE = 'a \\ "b" \u001b[31m\u009b2J\u202e\u2028\r.';
const CONTROLS = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

describe('createLogger', () => {
  it.each([
    'authorization',
    'password',
    'token',
    'secret',
    'BASIC_AUTH_PASSWORD',
    'GIT_TOKEN',
    'WEBHOOK_SECRET',
  ])('replaces the value of %s at any depth', async (name) => {
    const { lines, out } = collect();
    const logger = await createLogger('info', out, SECRET_SETTINGS);
    logger.info({ [name]: 'hunter-2', a: { [name]: 'hunter-2', b: { [name]: 'hunter-2' } }, kept: 1 }, 'x');
    await expect.poll(() => lines().length).toBe(1);
    expect(JSON.stringify(lines())).not.toContain('hunter-2');
    expect(lines()[0]).toMatchObject({ [name]: '(secret)', kept: 1, msg: 'x' });
  });

  it('writes readable lines without credentials to a terminal', async () => {
    const { out, text } = collect({ isTTY: true });
    (await createLogger('info', out, SECRET_SETTINGS)).info({ password: 'hunter-2' }, 'started');
    await expect.poll(text).toContain('started');
    expect(text()).not.toContain('hunter-2');
    expect(() => JSON.parse(text())).toThrow();
  });

  it('escapes control characters in lines of JSON, which parse to the same text', async () => {
    const { lines, out, text } = collect();
    (await createLogger('info', out, SECRET_SETTINGS)).info({ file: HOSTILE }, HOSTILE);
    await expect.poll(() => lines().length).toBe(1);
    expect(lines()[0]).toMatchObject({ file: HOSTILE, msg: HOSTILE });
    expect(text().trimEnd()).not.toMatch(CONTROLS);
  });

  it('logs the messages of an error and its causes, without repeating text', async () => {
    const { lines, out } = collect();
    const git = new Error('git fetch failed: no route');
    const origin = new HoldfastError('unavailable', 'origin is unreachable', {}, git);
    const write = new HoldfastError('unavailable', 'not written: origin is unreachable', {}, origin);
    (await createLogger('info', out, SECRET_SETTINGS)).error({ err: write }, 'x');
    await expect.poll(() => lines().length).toBe(1);
    const message = 'not written: origin is unreachable: git fetch failed: no route';
    expect(lines()[0]).toMatchObject({ err: { type: 'HoldfastError', message } });
  });

  it('escapes control characters on a terminal in messages, keys, values and errors', async () => {
    const { out, text } = collect({ isTTY: true });
    const cause = Object.assign(new Error(HOSTILE), { stderr: HOSTILE });
    (await createLogger('info', out, SECRET_SETTINGS)).error(
      { file: HOSTILE, err: cause, [HOSTILE]: { in: [HOSTILE] } },
      HOSTILE,
    );
    await expect.poll(text).toContain('file');
    expect(text().replaceAll('\n', '')).not.toMatch(CONTROLS);
    expect(text()).toContain('\\u009b');
    expect(text()).toContain('a \\ "b"');
  });

  it.each([true, false])('uses colours if the terminal supports them: %s', async (hasColors) => {
    const { out, text } = collect({ isTTY: true, hasColors: () => hasColors });
    (await createLogger('info', out, SECRET_SETTINGS)).info('started');
    await expect.poll(text).toContain('started');
    expect(text().includes('\u001b[')).toBe(hasColors);
  });

  it('shows whether a secret is set', async () => {
    const { lines, out } = collect();
    const logger = await createLogger('info', out, SECRET_SETTINGS);
    logger.info({ settings: { MONGODB_URI: null, BASIC_AUTH_PASSWORD: 'hunter-2' } }, 'x');
    await expect.poll(() => lines().length).toBe(1);
    expect(lines()[0]).toMatchObject({ settings: { MONGODB_URI: null, BASIC_AUTH_PASSWORD: '(secret)' } });
  });

  it('buffers at most two megabytes while the reader does not read, and logs again when it reads', async () => {
    const out = new PassThrough();
    const logger = await createLogger('info', out, SECRET_SETTINGS);
    for (let line = 0; line < 100; line++) logger.info('x'.repeat(100_000));
    expect(out.writableLength).toBeLessThan(2_000_000);
    let text = '';
    out.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await expect.poll(() => out.writableLength).toBe(0);
    logger.info('still here');
    await expect.poll(() => text).toContain('still here');
  });

  it('leaves out lines below its level', async () => {
    const { lines, out } = collect();
    const logger = await createLogger('warn', out, SECRET_SETTINGS);
    logger.info('left out');
    logger.warn('logged');
    await expect.poll(() => lines().map(({ msg }) => msg)).toEqual(['logged']);
  });
});
