import type { IncomingMessage } from 'node:http';
import { isMapValue } from '../../protocol/values.ts';
import { EngineError } from './engine.ts';

/** What Docker says while it waits before it tries again, which is no progress. */
const WAITING = /^Retrying in \d+ seconds?/;

/**
 * Reads the stream of a pull to its end and calls `onProgress` for each line that is progress. Resolves to the text of
 * the failure, null if the engine named none: with status 200 a pull can still fail, and then a line of the stream says so.
 * Rejects as `unavailable` if the stream breaks off.
 */
export async function readPull(response: IncomingMessage, onProgress: () => void): Promise<string | null> {
  let failure: string | null = null;
  for await (const line of linesOf(response)) {
    const said = parseLine(line);
    failure = failureIn(said) ?? failure;
    if (!WAITING.test(`${said['status']}`)) onProgress();
  }
  return failure;
}

function parseLine(line: string): Record<string, unknown> {
  try {
    const said: unknown = JSON.parse(line);
    if (isMapValue(said)) return said;
  } catch {
    // Half a line.
  }
  throw new EngineError('unavailable', "the engine's answer to a pull broke off");
}

/** `error` is deprecated since API 1.48. */
function failureIn({ error, errorDetail }: Record<string, unknown>): string | null {
  if (isMapValue(errorDetail)) return `${errorDetail['message'] ?? error}`;
  return error === undefined ? null : `${error}`;
}

/** Characters of a line. A registry's error is in one of them. */
const LONGEST_LINE = 4 * 2 ** 20;

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  response.setEncoding('utf8');
  for await (const chunk of response as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE)
      throw new EngineError('refused', "the engine's answer to a pull is too large");
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}
