/** How origin is reached. Secrets reach git through the environment of its process alone. */
export interface OriginAccess {
  /** `https://…`, `ssh://…`, `user@host:path`, or a path of this machine; never with credentials in it. */
  url: string;
  /** For https; the token itself, or the path of a file with it that is read at each transfer. */
  username: string | null;
  token: string | null;
  tokenFile: string | null;
  /** Path of a private key, for ssh. */
  sshKey: string | null;
  /** Path of a known_hosts file, for ssh. */
  knownHosts: string | null;
  /** Path of certificates to trust instead of those of the system, for https. */
  caFile: string | null;
}

/** What of the machine's environment a proxy, an agent or the system's certificates are found by. */
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

/** Said by the helper below; `unreachable` knows it. */
export const TOKEN_FILE_UNREADABLE = 'the file named in GIT_TOKEN_FILE cannot be read';

/**
 * Answers git's question for credentials. git starts it in a shell; the secret itself is only in the environment or in
 * its file, so that no list of processes shows it.
 */
const HELPER = `!f() {
test "$1" = get || exit 0
token=$HOLDFAST_ORIGIN_TOKEN
if test -n "$HOLDFAST_ORIGIN_TOKEN_FILE"; then
token=$(tr -d '\\r\\n' < "$HOLDFAST_ORIGIN_TOKEN_FILE") || { echo '${TOKEN_FILE_UNREADABLE}' >&2; exit 1; }
fi
printf 'username=%s\\npassword=%s\\n' "$HOLDFAST_ORIGIN_USERNAME" "$token"
}; f`;

/** Bytes a second, and for how many seconds a transfer over https may stay below it. */
const SLOWEST = 1000;
const SLOW_FOR = 30;

/** Settings of git for reaching origin: its address, who we are there, and when to give up on a slow line. */
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
  ];
  if (caFile !== null) config.push(['http.sslCAInfo', caFile]);
  // Only for this very host: one that origin redirects to gets nothing.
  if (hasToken(access)) config.push([`credential.${new URL(url).origin}.helper`, HELPER]);
  return config;
}

/** The part of git's environment that reaching origin needs. */
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
  // At a path the hooks of origin run with this environment, and they belong to somebody else.
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

/** Never asks, never takes an unknown host, never reads a person's configuration, and notices a dead connection. */
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
  return ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', quoted(option)])].join(' ');
}

/** git gives the command to a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
