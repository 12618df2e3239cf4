import { expect, it } from 'vitest';
import { unreachable } from '../../../../src/source/git/origin/errors.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { GitFailure } from '../../../../src/source/git/process/run.ts';

const NO_SSH = 'ssh is not on the PATH of the manager; install an ssh client (openssh-client)';
const NO_HTTPS = 'git does not support https; install its helper for that (git-remote-https)';
const CREDENTIALS = 'origin rejects the credentials; check GIT_USERNAME and GIT_TOKEN (or GIT_TOKEN_FILE)';
const NO_RIGHT = 'origin does not allow this account to push';
const KEY_MODE = 'other users can read the key in GIT_SSH_KEY, so ssh does not use it; set its mode to 600';
const NO_REPOSITORY = 'there is no repository at GIT_REMOTE';
const NO_SERVER =
  'GIT_REMOTE does not respond like a git server; check the address, and any proxy in front of it';
const REDIRECT = 'GIT_REMOTE redirects to another address; set it to that of the repository itself';
const FORMATS = 'the repository at GIT_REMOTE and its mirror have different object formats';
const CERTIFICATE = 'the certificate of origin is not trusted; check GIT_CA_FILE';
const NETWORK = 'origin is unreachable; check GIT_REMOTE and the network';
const LOST = 'the connection to origin was lost';

/** The line in which git names the address that it could not use. */
const noAccess = (why: string, url = 'https://forge.example/fleet.git/'): string =>
  `fatal: unable to access '${url}': ${why}`;

it.each([
  ['error: cannot run ssh: No such file or directory', NO_SSH],
  ['ssh -F /dev/null: 1: ssh: not found', NO_SSH],
  ['bash: line 1: ssh: command not found', NO_SSH],
  ["git: 'remote-https' is not a git command. See 'git --help'.", NO_HTTPS],
  ["fatal: unable to find remote helper for 'https'", NO_HTTPS],
  ["fatal: Authentication failed for 'https://forge.example/fleet.git/'", CREDENTIALS],
  ["fatal: could not read Username for 'https://forge.example': No such device or address", CREDENTIALS],
  ["fatal: could not read Password for 'https://robot@forge.example': terminal prompts off", CREDENTIALS],
  ['fatal: terminal prompts disabled', CREDENTIALS],
  [noAccess('The requested URL returned error: 401'), CREDENTIALS],
  [noAccess('The requested URL returned error: 403'), CREDENTIALS],
  ['ERROR: Permission to team/fleet.git denied to robot.', NO_RIGHT],
  ['ERROR: The key you are authenticating with has been marked as read only.', NO_RIGHT],
  ['ERROR: You are not allowed to push code to this project.', NO_RIGHT],
  ['bad permissions: ignore key: /run/key', KEY_MODE],
  ["Permissions 0644 for '/run/key' are too open.", KEY_MODE],
  [
    "fatal: detected dubious ownership in repository at '/srv/fleet.git'",
    'the repository at GIT_REMOTE belongs to another user',
  ],
  ["fatal: '/srv/fleet.git' does not appear to be a git repository", NO_REPOSITORY],
  ["fatal: repository 'https://forge.example/fleet.git/' not found", NO_REPOSITORY],
  ['ERROR: Repository not found.', NO_REPOSITORY],
  ['remote: Not Found', NO_REPOSITORY],
  ['Gitea: Repository does not exist', NO_REPOSITORY],
  [
    "ERROR: The project you were looking for could not be found or you don't have permission to view it.",
    NO_REPOSITORY,
  ],
  ['fatal: https://forge.example/info/refs not valid: is this a git repository?', NO_SERVER],
  ['fatal: protocol error: bad line length character: zzzz', NO_SERVER],
  [noAccess('Maximum (20) redirects followed'), REDIRECT],
  ['fatal: unable to update url base from redirection:', REDIRECT],
  [
    noAccess('The requested URL returned error: 429'),
    'origin limits the rate of requests (HTTP status 429); raise GIT_POLL_INTERVAL',
  ],
  ['fatal: mismatched algorithms: client sha1; server sha256', FORMATS],
  ["fatal: server does not support algorithm 'sha256'", FORMATS],
  ["fatal: the server does not support this repository's object format", FORMATS],
  ["fatal: the receiving end does not support this repository's hash algorithm", FORMATS],
  [noAccess('SSL certificate problem: unable to get local issuer certificate'), CERTIFICATE],
  [noAccess('server certificate verification failed. CAfile: none CRLfile: none'), CERTIFICATE],
  [noAccess('Problem with the SSL CA cert (path? access rights?)'), CERTIFICATE],
  [noAccess('error adding trust anchors from file: /run/ca.pem'), CERTIFICATE],
  [noAccess('Could not resolve host: forge.example'), NETWORK],
  [noAccess("Failed to connect to forge.example port 443 after 1 ms: Couldn't connect to server"), NETWORK],
  ['ssh: connect to host forge.example port 22: Connection refused', NETWORK],
  ['ssh: connect to host forge.example port 22: No route to host', NETWORK],
  ['ssh: connect to host forge.example port 22: Connection timed out', NETWORK],
  ['ssh: connect to host forge.example port 22: Network is unreachable', NETWORK],
  // What is about the connection is not about the certificate, and the address says nothing about either.
  [noAccess('OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to forge.example:443'), LOST],
  [noAccess('Could not resolve host: ssl.example', 'https://ssl.example/certificates.git/'), NETWORK],
  [
    noAccess('The requested URL returned error: 502', 'https://forge.example/certificates.git/'),
    'origin responded with HTTP status 502',
  ],
  [noAccess('Empty reply from server'), LOST],
  [
    "error: cannot lock ref 'refs/x': Unable to create '/d/mirror.git/refs/x.lock': Permission denied",
    'the mirror of origin cannot be written: the user of the manager may not write there; check owner and permissions',
  ],
  [
    "error: cannot update ref 'refs/x': couldn't write '/d/mirror.git/refs/x.lock'",
    'the mirror of origin cannot be written: a file could not be written; check the space (df) and inodes (df -i) of the disk',
  ],
  [
    "error: cannot lock ref 'refs/x': Unable to create '/d/mirror.git/refs/x.lock': File exists.",
    'git could not update the mirror of origin; see the log',
  ],
  ["remote: error: cannot lock ref 'refs/x': is at 1 but expected 2", LOST],
])('git\'s message "%s" is explained by "%s"', (text, message) => {
  expect(unreachable(new GitFailure(commands.version(), 128, `${text}\n`)).message).toBe(message);
});

const SENDING = 'Writing objects: 100% (3/3), 300 bytes, done.\n';

it.each([
  ['it had not begun to send', noAccess('Empty reply from server'), false],
  ['it had begun', SENDING, true],
  ['it took too long', 'not done within 60000 ms', true],
  [
    'origin has rejected the account',
    `${SENDING}${noAccess('The requested URL returned error: 403')}`,
    false,
  ],
  ['a proxy has answered', `${SENDING}${noAccess('The requested URL returned error: 502')}`, true],
])('a push that fails when %s counts as sent only if origin may accept it', (_, text, isSent) => {
  expect(unreachable(new GitFailure(commands.version(), 128, text)).isSent).toBe(isSent);
});
