import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { HoldfastError } from '../errors.ts';
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

/**
 * The administrator's account: that of the settings, or else one with a password that is made at the first start,
 * shown once and kept as a hash (decisions, "Authentication").
 */
export async function adminAccount({
  user,
  password,
  email,
  file,
  announce,
}: AdminOptions): Promise<Account> {
  if (user !== null && password !== null)
    return { user: identity(user, email), check: againstPlain(password) };
  const kept = (await readAdmin(file)) ?? (await makeAdmin(file, announce));
  return { user: identity(kept.user, email), check: againstHash(kept.password) };
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
    const message = `${file} is damaged; delete it, and a new admin password is made at the next start`;
    throw new HoldfastError('invalid', message, {}, error);
  }
}

async function makeAdmin(
  file: string,
  announce: AdminOptions['announce'],
): Promise<z.infer<typeof AdminFile>> {
  const password = makePassword();
  const admin = { user: DEFAULT_NAME, password: await hashPassword(password) };
  await writeFile(`${file}.new`, `${JSON.stringify(admin, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  announce(admin.user, password);
  return admin;
}
