import type { Logger } from 'pino';
import { createAdministrator, principalOf } from '../../accounts/admin.ts';
import {
  type Account,
  type Authenticator,
  allowEverybody,
  createAuthenticator,
} from '../../accounts/authenticator.ts';
import { plainPasswordCheck } from '../../accounts/password.ts';
import { replaceFile } from '../../disk/replace.ts';
import { HoldfastError } from '../../errors.ts';
import type { Clock } from '../../process/clock.ts';
import type { Config } from '../../settings/table.ts';

interface AccountsEnvironment {
  clock: Clock;
  logger: Logger;
  /** Shows a text to the user at the terminal, outside the log. */
  announce(text: string): void;
}

/**
 * Opens the configured accounts. If no password is configured, one is generated, and `data` is the folder that keeps
 * its hash. Call `keepPassword` once the manager certainly serves: it saves and shows a generated password.
 */
export async function openAuthenticator(
  config: Config,
  data: string,
  { logger, announce, clock }: AccountsEnvironment,
): Promise<{ authenticator: Authenticator; keepPassword(): Promise<void> }> {
  if (!config.AUTH_ENABLED) {
    logger.warn('authentication is off: anyone who can reach this server has full access');
    const authenticator = allowEverybody(principalOf('anonymous', null, 'admin'));
    return { authenticator, keepPassword: () => Promise.resolve() };
  }
  const { account, keepPassword } = await createAdministrator({
    user: config.BASIC_AUTH_USER,
    password: config.BASIC_AUTH_PASSWORD,
    email: config.BASIC_AUTH_EMAIL,
    file: `${data}/admin.json`,
    replaceFile,
    announce: (user, password) => announce(passwordNotice(user, password)),
  });
  const accounts = [account, ...deviceAccount(config, account)];
  return { authenticator: createAuthenticator(accounts, clock.elapsed), keepPassword };
}

/** Returns the notice in a frame, with an empty line around it. */
function passwordNotice(user: string, password: string): string {
  const title = " This is shown once: the administrator's password ";
  const line = `  Sign in as "${user}" with the password ${password}  `;
  const { length: width } = line;
  const top = title.padStart((width + title.length) / 2, '-').padEnd(width, '-');
  return ['', `+${top}+`, `|${line}|`, `+${'-'.repeat(width)}+`, '', ''].join('\n');
}

/** Returns the account that all devices share, if one is configured. */
function deviceAccount(
  { DEVICE_AUTH_USER: user, DEVICE_AUTH_PASSWORD: password }: Config,
  admin: Account,
): Account[] {
  if (user === null || password === null) return [];
  if (user === admin.principal.name)
    throw new HoldfastError(
      'invalid',
      `DEVICE_AUTH_USER is the administrator's name; give devices another one`,
    );
  return [{ principal: principalOf(user, null, 'device'), check: plainPasswordCheck(password) }];
}
