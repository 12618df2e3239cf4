/** How origin is reached. Secrets are passed to git only through the environment of its process. */
export interface OriginAccess {
  /** `https://…`, `ssh://…`, `user@host:path`, or a path of this machine; never with credentials in it. */
  url: string;
  /** For https: the token itself, or the path of a file that contains it and is read at each transfer. */
  username: string | null;
  token: string | null;
  tokenFile: string | null;
  /** Path of a private key, for ssh. */
  sshKey: string | null;
  /** Path of a known_hosts file, for ssh. */
  knownHosts: string | null;
  /** Path of a file of certificates to trust instead of those of the system, for https. */
  caFile: string | null;
}

/** Access to an origin that asks for nothing. */
export const NO_CREDENTIALS = {
  username: null,
  token: null,
  tokenFile: null,
  sshKey: null,
  knownHosts: null,
  caFile: null,
} as const;

/** Variables of the machine's environment that name a proxy, an ssh agent or the system's certificates. */
const PASSED_ON = [
  'HTTPS_PROXY',
  'https_proxy',
  'ALL_PROXY',
  'all_proxy',
  'NO_PROXY',
  'no_proxy',
  'SSH_AUTH_SOCK',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

/** Printed by the helper below, and recognized by `unreachable`. */
export const TOKEN_FILE_UNREADABLE = 'the file named in GIT_TOKEN_FILE cannot be read';

/**
 * A credential helper, which git runs in a shell. The secret itself is only in the environment or in its file, so that no
 * list of processes shows it.
 */
const HELPER = `!f() {
test "$1" = get || exit 0
token=$HOLDFAST_ORIGIN_TOKEN
if test -n "$HOLDFAST_ORIGIN_TOKEN_FILE"; then
token=$(tr -d '\\r\\n' < "$HOLDFAST_ORIGIN_TOKEN_FILE") || { echo '${TOKEN_FILE_UNREADABLE}' >&2; exit 1; }
fi
printf 'username=%s\\npassword=%s\\n' "$HOLDFAST_ORIGIN_USERNAME" "$token"
}; f`;

/** A transfer over https ends if it stays below so many bytes a second for so many seconds. */
const SLOWEST = 1000;
const SLOW_FOR = 30;

/** Returns git's settings for reaching origin: its address, the credentials, and when to give up on a slow connection. */
export function accessConfig(access: OriginAccess): (readonly [string, string])[] {
  const { url, caFile } = access;
  const config: (readonly [string, string])[] = [
    ['remote.origin.url', url],
    ['http.lowSpeedLimit', String(SLOWEST)],
    ['http.lowSpeedTime', String(SLOW_FOR)],
    ['http.followRedirects', 'initial'],
    ['transfer.credentialsInUrl', 'die'],
    ['transfer.fsckObjects', 'false'],
    ['push.recurseSubmodules', 'no'],
    ['push.gpgSign', 'false'],
    ['push.followTags', 'false'],
    ['fetch.recurseSubmodules', 'false'],
    ['fetch.unpackLimit', '1'],
    ['submodule.recurse', 'false'],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
  ];
  if (caFile !== null) config.push(['http.sslCAInfo', caFile]);
  // Only for this host: a host that origin redirects to gets no credentials.
  if (hasToken(access)) config.push([`credential.${new URL(url).origin}.helper`, HELPER]);
  return config;
}

/** Returns the environment variables that git needs to reach origin. */
export function accessEnvironment(
  access: OriginAccess,
  machine: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const env: Record<string, string> = {
    GIT_ALLOW_PROTOCOL: 'file:https:ssh',
    GIT_SSH_COMMAND: sshCommand(access),
    GIT_SSH_VARIANT: 'ssh',
  };
  for (const name of PASSED_ON) {
    const value = machine[name];
    if (value !== undefined) env[name] = value;
  }
  // If origin is at a path, its hooks run with this environment, and other people write them.
  if (!hasToken(access)) return env;
  return {
    ...env,
    HOLDFAST_ORIGIN_USERNAME: access.username ?? 'git',
    HOLDFAST_ORIGIN_TOKEN: access.token ?? '',
    HOLDFAST_ORIGIN_TOKEN_FILE: access.tokenFile ?? '',
  };
}

function hasToken({ url, token, tokenFile }: OriginAccess): boolean {
  return (token ?? tokenFile) !== null && isHttps(url);
}

function isHttps(url: string): boolean {
  return /^https:/i.test(url);
}

/** Never prompts, accepts no unknown host, reads no user's configuration, and notices a dead connection. */
function sshCommand({ sshKey, knownHosts }: OriginAccess): string {
  const options = [
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    'ConnectTimeout=10',
    'ServerAliveInterval=5',
    'ServerAliveCountMax=3',
    ...(sshKey === null ? [] : ['IdentitiesOnly=yes', `IdentityFile="${sshKey}"`]),
    ...(knownHosts === null ? [] : [`UserKnownHostsFile="${knownHosts}"`]),
  ];
  return ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', shellQuoted(option)])].join(' ');
}

/** Quotes a word for the shell in which git runs a command. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
