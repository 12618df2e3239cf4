import { HoldfastError } from '../../errors.ts';
import { bodyOf, codeOf, exchange, HttpError } from '../http.ts';

/** What a running worker answers to a command. */
export interface Answer {
  status: number;
  /** Parsed JSON. */
  body: unknown;
}

/** Seconds. A worker answers from memory, but its machine may be busy. */
const TIMEOUT = 5;
const LARGEST_ANSWER = 16 * 2 ** 20;
/** Nobody listens there, or there is no such file. */
const NOBODY = ['ECONNREFUSED', 'ENOENT', 'ENOTDIR', 'EINVAL', 'ENAMETOOLONG'];

/**
 * Sends a command to the worker that listens on a socket. Resolves to null if none does. Rejects as `unavailable` if this
 * user may not ask it; one that does not answer in time is reported as an answer with status 504.
 */
export async function askSocket(
  path: string,
  { method, path: target }: { method: 'GET' | 'POST'; path: string },
): Promise<Answer | null> {
  try {
    const to = { socketPath: path, path: target };
    return await exchange({ to, method, limit: TIMEOUT }, async (response) => ({
      status: response.statusCode ?? 0,
      body: parsed((await bodyOf(response, LARGEST_ANSWER)).toString('utf8')),
    }));
  } catch (error) {
    if (error instanceof HttpError && error.reason === 'timeout')
      return { status: 504, body: { error: 'the worker does not answer' } };
    const code = codeOf(error);
    if (NOBODY.includes(code)) return null;
    const text =
      code === 'EACCES'
        ? 'belongs to another user; run this as that user or root'
        : `cannot be asked: ${(error as Error).message}`;
    throw new HoldfastError('unavailable', `${path} ${text}`, {}, error);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
