import { expect, it } from 'vitest';
import { unreachable } from '../../../../src/source/git/origin/errors.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { GitFailure } from '../../../../src/source/git/process/run.ts';

const CREDENTIALS = 'origin rejects the credentials; check GIT_USERNAME and GIT_TOKEN (or GIT_TOKEN_FILE)';
const KEY =
  'origin rejects the ssh key; GIT_SSH_KEY must name a private key that the user of the manager alone may read';
const CERTIFICATE = 'the certificate of origin is not trusted; check GIT_CA_FILE';
const NETWORK = 'origin is unreachable; check GIT_REMOTE and the network';
const OWN = 'the transfer with origin failed: ';

/** The line in which git names the address that it could not use. */
const noAccess = (why: string, url = 'https://forge.example/fleet.git/'): string =>
  `fatal: unable to access '${url}': ${why}`;

it.each([
  ["fatal: Authentication failed for 'https://forge.example/fleet.git/'", CREDENTIALS],
  ["fatal: could not read Username for 'https://forge.example': No such device or address", CREDENTIALS],
  ["fatal: could not read Password for 'https://robot@forge.example': terminal prompts off", CREDENTIALS],
  ['fatal: terminal prompts disabled', CREDENTIALS],
  [noAccess('The requested URL returned error: 401'), CREDENTIALS],
  [noAccess('The requested URL returned error: 403'), CREDENTIALS],
  ['git@forge.example: Permission denied (publickey).', KEY],
  ['Load key "/run/key": bad permissions', KEY],
  ['Host key verification failed.', 'the host key of origin is unknown; check GIT_KNOWN_HOSTS'],
  [noAccess('SSL certificate problem: unable to get local issuer certificate'), CERTIFICATE],
  [noAccess('server certificate verification failed. CAfile: none CRLfile: none'), CERTIFICATE],
  [noAccess('Problem with the SSL CA cert (path? access rights?)'), CERTIFICATE],
  [noAccess('error adding trust anchors from file: /run/ca.pem'), CERTIFICATE],
  [noAccess('Could not resolve host: forge.example'), NETWORK],
  [noAccess("Failed to connect to forge.example port 443 after 1 ms: Couldn't connect to server"), NETWORK],
  ['ssh: connect to host forge.example port 22: Connection refused', NETWORK],
  // What is about the connection is not about the certificate, and the address says nothing about either.
  [noAccess('Could not resolve host: ssl.example', 'https://ssl.example/certificates.git/'), NETWORK],
  [
    "error: cannot lock ref 'refs/x': Unable to create '/d/mirror.git/refs/x.lock': Permission denied",
    'the mirror of origin cannot be written: the user of the manager has no right to do that; check owner and permissions, and how the disk is mounted',
  ],
  ['not done within 60000 ms', 'origin did not respond in time'],
])('git\'s message "%s" is explained by "%s"', (text, message) => {
  expect(unreachable(new GitFailure(commands.version(), 128, `${text}\n`)).message).toBe(message);
});

it.each([
  'error: cannot run ssh: No such file or directory',
  "fatal: unable to find remote helper for 'https'",
  'ERROR: Permission to team/fleet.git denied to robot.',
  "fatal: repository 'https://forge.example/fleet.git/' not found",
  noAccess('OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to forge.example:443'),
  noAccess('The requested URL returned error: 502', 'https://forge.example/certificates.git/'),
  noAccess('Empty reply from server'),
  "remote: error: cannot lock ref 'refs/x': is at 1 but expected 2",
])('git\'s message "%s" is shown as it is', (text) => {
  const said = `${text}\nfatal: Could not read from remote repository.\n`;
  expect(unreachable(new GitFailure(commands.version(), 128, said)).message).toBe(`${OWN}${text}`);
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
