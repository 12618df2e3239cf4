import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { HoldfastError } from '../errors.ts';
import type { Account } from './authenticator.ts';
import {
  generatePassword,
  hashedPasswordCheck,
  hashGenerated,
  PasswordHash,
  plainPasswordCheck,
} from './password.ts';
import type { Principal, Role } from './principal.ts';

const AdminFile = z.object({ user: z.string(), password: PasswordHash });

const DEFAULT_NAME = 'admin';

/** The settings of the administrator, and where a generated password goes. */
export interface AdminOptions {
  /** From the settings; null if not configured. */
  user: string | null;
  password: string | null;
  email: string | null;
  /** The file that holds the hash of a generated password. */
  file: string;
  /** Writes a new file, which survives a loss of power and which only its owner may read. */
  replaceFile(path: string, text: string): Promise<void>;
  /** Shows a generated password to the operator. It is never shown again. */
  announce(user: string, password: string): void;
}

/** The administrator's account, and the last step of creating it. */
export interface Administrator {
  account: Account;
  /**
   * Saves the hash of a generated password, and shows the password. Call it once the manager serves; if it ends before,
   * the next start generates another. Does nothing if no password was generated.
   */
  keepPassword(): Promise<void>;
}

/**
 * Resolves to the administrator's account. If the settings have none, the first start generates a password and keeps only
 * its hash (docs/contract.md, 6.3). Nothing is saved or shown before `keepPassword`, so a start that fails before that
 * leaves no trace. Rejects as `invalid` if the file is damaged.
 */
export async function createAdministrator(options: AdminOptions): Promise<Administrator> {
  const { user, password, email, file, replaceFile, announce } = options;
  const doNothing = (): Promise<void> => Promise.resolve();
  if (user !== null && password !== null)
    return {
      account: { principal: principalOf(user, email, 'admin'), check: plainPasswordCheck(password) },
      keepPassword: doNothing,
    };
  const stored = await readAdmin(file);
  const generated = stored === null ? generatePassword() : '';
  const admin = stored ?? { user: DEFAULT_NAME, password: hashGenerated(generated) };
  const keepPassword = async (): Promise<void> => {
    await replaceFile(file, `${JSON.stringify(admin, null, 2)}\n`);
    announce(admin.user, generated);
  };
  const principal = principalOf(admin.user, email, 'admin');
  const account = { principal, check: hashedPasswordCheck(admin.password) };
  return { account, keepPassword: stored === null ? keepPassword : doNothing };
}

/** Returns the principal with this name, with the e-mail address for commits (docs/contract.md, 10.2). */
export function principalOf(name: string, email: string | null, role: Role): Principal {
  return { name, email: email ?? `${name.replace(/[^\w.+-]+/g, '_')}@holdfast.invalid`, roles: [role] };
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
