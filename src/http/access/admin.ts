import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { HoldfastError } from '../../errors.ts';
import type { Account } from './authentication.ts';
import { againstHash, againstPlain, hashPassword, makePassword, PasswordHash } from './password.ts';

const AdminFile = z.object({ user: z.string(), password: PasswordHash });

const DEFAULT_NAME = 'admin';

/** How the administrator is set up. */
export interface AdminOptions {
  /** From the settings; null where none is configured. */
  user: string | null;
  password: string | null;
  email: string | null;
  /** Where the hash of a made password is kept. */
  file: string;
  /** Shows a made password, which is never to be seen again. */
  announce(user: string, password: string): void;
}

/** The administrator, and what is left to do once it is certain that the manager serves. */
export interface Administrator {
  account: Account;
  /** Keeps the hash of a password that was made, and shows the password; nothing where there was one before. */
  settle(): Promise<void>;
}

/**
 * The administrator's account: that of the settings, or else one with a password that is made at the first start and
 * kept as a hash (decisions, "Authentication"). A start that fails before `settle` has shown and kept nothing.
 */
export async function administrator(options: AdminOptions): Promise<Administrator> {
  const { user, password, email, file, announce } = options;
  const nothing = (): Promise<void> => Promise.resolve();
  if (user !== null && password !== null)
    return { account: { user: identity(user, email), check: againstPlain(password) }, settle: nothing };
  const kept = await readAdmin(file);
  const made = kept === null ? makePassword() : '';
  const admin = kept ?? { user: DEFAULT_NAME, password: await hashPassword(made) };
  const settle = async (): Promise<void> => {
    await keepAdmin(file, admin);
    announce(admin.user, made);
  };
  const account = { user: identity(admin.user, email), check: againstHash(admin.password) };
  return { account, settle: kept === null ? settle : nothing };
}

/** Who a name is in commits (decisions, "Writes through the API"). */
export function identity(name: string, email: string | null): Account['user'] {
  return { name, email: email ?? `${name.replace(/[^\w.+-]+/g, '_')}@holdfast.invalid` };
}

async function readAdmin(file: string): Promise<z.infer<typeof AdminFile> | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return AdminFile.parse(JSON.parse(text));
  } catch (error) {
    const message = `${file} is damaged; delete it, and the next start generates a new password`;
    throw new HoldfastError('invalid', message, {}, error);
  }
}

/** What another user may have put at the place of the new file is taken away, and not written into. */
async function keepAdmin(file: string, admin: z.infer<typeof AdminFile>): Promise<void> {
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, `${JSON.stringify(admin, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(`${file}.new`, file);
}
