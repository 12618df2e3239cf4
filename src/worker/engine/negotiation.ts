import { bodyOf } from '../http.ts';
import { EngineError } from './engine.ts';
import { refusal } from './failures.ts';
import { messageIn } from './replies.ts';
import { exchange, LARGEST_ANSWER } from './transport.ts';

/** Docker 29 refuses older versions of its API; nothing of newer ones is needed. */
const PREFERRED = '1.44';
/** That of Docker 20.10. */
const OLDEST = '1.41';

/**
 * Asks an engine for the version of its API: 1.44, or what it has if that is older. Rejects as `refused` below 1.41, and
 * as `unavailable` if what answers is no engine. `limit` is in seconds.
 */
export async function negotiate(socketPath: string, limit: number): Promise<string> {
  return exchange(socketPath, { method: 'GET', path: '/_ping', limit }, async (response) => {
    const { statusCode = 0, headers } = response;
    const body = await bodyOf(response, LARGEST_ANSWER);
    if (statusCode !== 200) throw refusal('GET /_ping', statusCode, messageIn(body));
    const newest = `${headers['api-version'] ?? ''}`;
    if (!/^\d+\.\d+$/.test(newest))
      throw new EngineError('unavailable', `what answers at ${socketPath} is no container engine`);
    if (compare(newest, OLDEST) < 0)
      throw new EngineError('refused', `the engine's API is ${newest}, and ${OLDEST} or newer is needed`);
    return compare(newest, PREFERRED) < 0 ? newest : PREFERRED;
  });
}

function compare(a: string, b: string): number {
  const [major = 0, minor = 0] = a.split('.').map(Number);
  const [otherMajor = 0, otherMinor = 0] = b.split('.').map(Number);
  return major - otherMajor || minor - otherMinor;
}
