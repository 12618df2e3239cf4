import { describe, expect, it } from 'vitest';
import { codeOf, refusal } from '../../../src/worker/engine/failures.ts';

const DRIVER = 'driver failed programming external connectivity on endpoint web (3f6d)';

describe('what an engine says', () => {
  it.each([
    ['absent', 404, 'No such container: web-1'],
    ['absent', 404, 'no container with name or ID "web-1" found: no such container'],
    ['image-missing', 404, 'No such image: example.com/web:v9'],
    ['image-missing', 404, 'manifest for example.com/web:v9 not found: manifest unknown: manifest unknown'],
    [
      'image-missing',
      404,
      "pull access denied for web, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
    ],
    ['image-missing', 200, 'reading manifest v9 in example.com/web: manifest unknown'],
    ['unauthorized', 500, 'Head "https://example.com/v2/web/manifests/v1": no basic auth credentials'],
    ['unauthorized', 500, 'unauthorized: authentication required'],
    ['unauthorized', 500, 'Get "https://ghcr.io/v2/acme/web/manifests/1": denied: denied'],
    ['unauthorized', 500, 'denied: requested access to the resource is denied'],
    [
      'unauthorized',
      500,
      'Get "https://registry-1.docker.io/v2/": unauthorized: incorrect username or password',
    ],
    ['unauthorized', 200, 'unable to retrieve auth token: invalid username/password: unauthorized'],
    ['network-missing', 404, 'network nebula not found'],
    ['port-taken', 500, `${DRIVER}: Bind for 0.0.0.0:8080 failed: port is already allocated`],
    [
      'port-taken',
      500,
      `${DRIVER}: Error starting userland proxy: listen tcp4 127.0.0.1:8080: bind: address already in use`,
    ],
    ['port-taken', 500, 'rootlessport listen tcp 0.0.0.0:8080: bind: address already in use'],
    [
      'name-taken',
      409,
      'Conflict. The container name "/web-1" is already in use by container "3f6d". You have to remove (or rename) that container to be able to reuse that name.',
    ],
    ['name-taken', 500, 'creating container storage: the container name "web-1" is already in use by 3f6d.'],
    ['no-space', 500, 'failed to register layer: write /bin/busybox: no space left on device'],
    ['stuck', 500, 'task 3f6d97e8: already exists: unknown'],
    ['stuck', 500, 'id already in use'],
    [
      'out-of-order',
      500,
      'failed to create endpoint web-1 on network nebula: adding interface veth1 to bridge br-1 failed: could not find bridge br-1: route ip+net: no such network interface',
    ],
    [
      'out-of-order',
      500,
      'could not find an available, non-overlapping IPv4 address pool among the defaults',
    ],
    ['out-of-order', 500, 'all predefined address pools have been fully subnetted'],
    [
      'out-of-order',
      500,
      'connection error: dial unix /run/containerd/containerd.sock: connect: connection refused',
    ],
    [
      'out-of-order',
      500,
      'connection error: desc = "transport: Error while dialing dial unix:///run/containerd/containerd.sock: timeout": unavailable',
    ],
    [
      'out-of-order',
      500,
      "no available IPv4 addresses on this network's address pools: nebula (0441a3dc71f2ae873f01)",
    ],
    ['out-of-order', 500, 'rpc error: code = Unavailable desc = transport is closing'],
    ['refused', 500, 'received unexpected HTTP status: 500 Internal Server Error'],
    ['refused', 500, 'dial tcp 127.0.0.1:5000: connect: connection refused'],
    ['refused', 409, 'removal of container web-1 is already in progress'],
    ['refused', 500, 'OCI runtime create failed: exec: "/nope": permission denied'],
  ])('means %s: %i %s', (code, status, text) => {
    expect(codeOf(status, text)).toBe(code);
  });

  it('is one line of bounded length in an error, without secrets', () => {
    const { message } = refusal('POST /x', 500, `a\n b secret ${'<p>'.repeat(1000)}`, ['secret', '']);
    expect(message).toMatch(/^a b \*\*\* <p>/);
    expect(message.length).toBeLessThan(600);
  });

  it('is read in milliseconds, however long it is and whatever it repeats', () => {
    // With the whole text, each of these takes minutes.
    for (const part of ['manifest for ', 'network ', 'task ', 'container name ', ' ', '::: denied'])
      expect(refusal('POST /x', 500, part.repeat(2 ** 20)).code).toMatch(/^(refused|unauthorized)$/);
  });

  it('shows no id of 64 digits', () => {
    const id = '3f6d97e8aabb'.padEnd(64, '0');
    expect(refusal('POST /x', 500, `endpoint web (${id}) failed`).message).toBe(
      'endpoint web (3f6d97e8aabb) failed',
    );
    expect(refusal(`POST /containers/${id}/start`, 503, '').message).toBe(
      'POST /containers/3f6d97e8aabb/start: the engine answered 503',
    );
  });

  it.each([
    [
      `${DRIVER}: Error starting userland proxy: listen tcp4 0.0.0.0:8080: bind: address already in use`,
      'a program of this device that is no container of this engine has port 8080; ss -ltnup shows which',
    ],
    [
      `${DRIVER}: Bind for 0.0.0.0:8080 failed: port is already allocated`,
      'another container of this device has port 8080',
    ],
    ['port is already allocated', 'another container of this device has a port of the app'],
  ])('says who has a port: %s', (text, message) => {
    expect(refusal('POST /x', 500, text)).toMatchObject({ code: 'port-taken', message });
  });

  it('is named by its status and its call if it has no text', () => {
    expect(refusal('POST /x', 503, '').message).toBe('POST /x: the engine answered 503');
  });
});
