import { request } from 'node:http';
import { HoldfastError } from '../../errors.ts';
import { shortPath } from './short-path.ts';

/** What a running worker answers to a command. */
export interface Answer {
  status: number;
  /** Parsed JSON. */
  body: unknown;
}

/** Milliseconds. A worker answers from memory, but its machine may be busy. */
const TIMEOUT = 5000;
/** Nobody listens there, or there is no such file. */
const NOBODY = ['ECONNREFUSED', 'ENOENT', 'ENOTDIR'];

/**
 * Sends a command to the worker that listens on a socket. Resolves to null if none does. Rejects as `unavailable` if this
 * user may not ask it; one that does not answer in time is reported as an answer with status 504.
 */
export async function askSocket(
  path: string,
  { method, path: target }: { method: 'GET' | 'POST'; path: string },
): Promise<Answer | null> {
  let short: ReturnType<typeof shortPath> | null = null;
  try {
    short = shortPath(path);
    const { text: socketPath } = short;
    return await new Promise<Answer>((resolve, reject) => {
      const asked = request({ socketPath, method, path: target, agent: false, timeout: TIMEOUT });
      asked.on('timeout', () => {
        resolve({ status: 504, body: { error: 'the worker does not answer' } });
        asked.destroy();
      });
      asked.on('error', reject);
      asked.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: parsed(text) }));
      });
      asked.end();
    });
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (NOBODY.includes(code)) return null;
    if (code === 'EACCES')
      throw new HoldfastError(
        'unavailable',
        `${path} belongs to another user; run this as that user or root`,
      );
    throw new HoldfastError('unavailable', `${path}: ${message}`, {}, error);
  } finally {
    short?.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
