import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Principal } from './principal.ts';

/** Resolves to whether a password is right. Takes the same time either way, and can be slow on purpose. */
export type CheckPassword = (password: string) => Promise<boolean>;

/** An account: who it stands for, and how to check its password. */
export interface Account {
  principal: Principal;
  check: CheckPassword;
}

/** Identifies the sender of an `Authorization` header. */
export interface Authenticator {
  /** Resolves to null for wrong credentials. */
  authenticate(header: string | undefined): Promise<Principal | null>;
  /** Returns the principal if this header was accepted a short time ago, otherwise null. Never checks a password. */
  recall(header: string | undefined): Principal | null;
}

/**
 * How long an accepted header is remembered, in milliseconds, and how many are: two for each device of the largest fleet that
 * one manager is for.
 */
const REMEMBER_TIME = 60_000;
const MAX_REMEMBERED = 20_000;

/** Returns an authenticator that treats every request as coming from this principal, for `AUTH_ENABLED=false`. */
export function allowEverybody(principal: Principal): Authenticator {
  return { authenticate: async () => principal, recall: () => principal };
}

/**
 * Returns an authenticator for HTTP Basic (RFC 7617). Names and passwords are compared in constant time. Accepted headers
 * are remembered by a keyed hash for a minute, however often they are used: an account that changes or ends does so within
 * that time. So a fleet pays for a slow check once a minute, and its devices never wait for the checks of an attacker's guesses.
 *
 * The first account is the administrator's. `elapsed` is a monotonic clock, in milliseconds.
 */
export function createAuthenticator(accounts: readonly Account[], elapsed: () => number): Authenticator {
  const key = randomBytes(32).toString('hex');
  const accepted = new Map<string, { principal: Principal; until: number }>();
  /** The checks that are running. After a restart, a whole fleet sends the same header at once, and it is checked once. */
  const running = new Map<string, Promise<Principal | null>>();

  /** Remembers an accepted header as the newest. If the memory is full, the oldest is forgotten. */
  const remember = (id: string, principal: Principal): void => {
    accepted.delete(id);
    const [oldest] = accepted.keys();
    if (accepted.size >= MAX_REMEMBERED && oldest !== undefined) accepted.delete(oldest);
    accepted.set(id, { principal, until: elapsed() + REMEMBER_TIME });
  };

  /**
   * Keyed, so that an attacker cannot choose headers whose ids share a prefix with an accepted one; look-up times could
   * reveal that.
   */
  const idOf = (header: string): string => hash('sha256', key + header);

  const recallId = (id: string): Principal | null => {
    const found = accepted.get(id);
    return found === undefined || found.until <= elapsed() ? null : found.principal;
  };

  const checkAndRemember = async (id: string, header: string): Promise<Principal | null> => {
    const principal = await check(header, accounts);
    if (principal !== null) remember(id, principal);
    return principal;
  };

  const authenticate = async (header: string | undefined): Promise<Principal | null> => {
    if (header === undefined) return null;
    const id = idOf(header);
    const recalled = recallId(id);
    if (recalled !== null) return recalled;
    const result = running.get(id) ?? checkAndRemember(id, header).finally(() => running.delete(id));
    running.set(id, result);
    return result;
  };

  const recall = (header: string | undefined): Principal | null =>
    header === undefined ? null : recallId(idOf(header));

  return { authenticate, recall };
}

/**
 * Checks a password against the account of its name alone, so that devices never wait for checks of the administrator's
 * password, which can be slow. For an unknown name, checks it against the first account: this takes as long as a wrong
 * password of the administrator, so the time taken does not tell whether a name is the administrator's.
 */
async function check(header: string, accounts: readonly Account[]): Promise<Principal | null> {
  const credentials = parseBasic(header);
  if (credentials === null) return null;
  let named: Account | null = null;
  for (const account of accounts) {
    if (equalInConstantTime(credentials.name, account.principal.name)) named = account;
  }
  const isRight = await (named ?? accounts[0])?.check(credentials.password);
  return named !== null && isRight === true ? named.principal : null;
}

function parseBasic(header: string): { name: string; password: string } | null {
  const match = /^basic +([a-z0-9+/_-]+=*) *$/i.exec(header);
  if (match?.[1] === undefined) return null;
  const text = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Compares in constant time. */
export function equalInConstantTime(a: string, b: string): boolean {
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(a), digest(b));
}
