import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Who a request comes from. */
export interface User {
  name: string;
  email: string;
  /** Whether it may only do what devices do. */
  isDevice?: true;
}

/** Checks a password in constant time; may be slow on purpose. */
export type CheckPassword = (password: string) => Promise<boolean>;

/** One account: its name and how to check its password. */
export interface Account {
  user: User;
  check: CheckPassword;
}

/**
 * Finds out who sent an `Authorization` header; null for unknown credentials. Rejects as `unavailable` while too many are
 * being checked.
 */
export interface Authenticator {
  authenticate(header: string | undefined): Promise<User | null>;
  /** The same without checking a password: null unless this header was accepted a short time ago. */
  recall(header: string | undefined): User | null;
}

/** How long an accepted credential is remembered after its last use, in milliseconds, and how many of them are. */
const REMEMBER = 60_000;
const REMEMBER_AT_MOST = 10_000;

/** Everybody is let in; only for `AUTH_ENABLED=false`. */
export function allowEverybody(user: User): Authenticator {
  return { authenticate: async () => user, recall: () => user };
}

/**
 * HTTP Basic (RFC 7617). Names and passwords are compared in constant time; a credential that was right is
 * remembered by a keyed hash until it was not used for a short time, so that a fleet pays for a slow check only once, and
 * known clients never wait behind the guesses of others.
 *
 * `elapsed` gives milliseconds that pass, whatever the clock on the wall does.
 */
export function createAuthenticator(accounts: readonly Account[], elapsed: () => number): Authenticator {
  const key = randomBytes(32).toString('hex');
  const known = new Map<string, { user: User; until: number }>();
  /** Checks that run now. After a restart a whole fleet sends the same credential at once: it is checked once. */
  const underWay = new Map<string, Promise<User | null>>();

  const remember = (id: string, user: User): void => {
    if (known.size >= REMEMBER_AT_MOST) known.clear();
    known.set(id, { user, until: elapsed() + REMEMBER });
  };

  /** Keyed, so that an attacker cannot compute which headers have similar hashes. */
  const idOf = (header: string): string => hash('sha256', key + header);

  const recallId = (id: string): User | null => {
    const found = known.get(id);
    const now = elapsed();
    if (found === undefined || found.until <= now) return null;
    found.until = now + REMEMBER;
    return found.user;
  };

  const checkAndRemember = async (id: string, header: string): Promise<User | null> => {
    const user = await check(header, accounts);
    if (user === null) known.delete(id);
    else remember(id, user);
    return user;
  };

  const authenticate = async (header: string | undefined): Promise<User | null> => {
    if (header === undefined) return null;
    const id = idOf(header);
    const recalled = recallId(id);
    if (recalled !== null) return recalled;
    const running = underWay.get(id) ?? checkAndRemember(id, header).finally(() => underWay.delete(id));
    underWay.set(id, running);
    return running;
  };

  const recall = (header: string | undefined): User | null =>
    header === undefined ? null : recallId(idOf(header));

  return { authenticate, recall };
}

/** Checks the password of every account, so that the time taken does not reveal which names exist. */
async function check(header: string, accounts: readonly Account[]): Promise<User | null> {
  const credentials = parseBasic(header);
  if (credentials === null) return null;
  let user: User | null = null;
  for (const account of accounts) {
    const isName = sameText(credentials.name, account.user.name);
    const isPassword = await account.check(credentials.password);
    if (isName && isPassword) user = account.user;
  }
  return user;
}

function parseBasic(header: string): { name: string; password: string } | null {
  const match = /^basic +([a-z0-9+/_-]+=*) *$/i.exec(header);
  if (match?.[1] === undefined) return null;
  const text = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Compares in constant time. */
export function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
