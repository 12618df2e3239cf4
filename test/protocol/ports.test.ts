import { describe, expect, it } from 'vitest';
import { Port, type PortMapping, parsePort } from '../../src/protocol/ports.ts';

/** The message of the first problem; null if the entry is valid. */
function problemOf(entry: unknown): string | null {
  return Port.safeParse(entry).error?.issues[0]?.message ?? null;
}

const ANY = { address: null, protocol: 'tcp' } as const;

describe('an entry of starting_ports', () => {
  it.each<[Port, PortMapping]>([
    [8080, { ...ANY, hostPort: 8080, containerPort: 8080 }],
    [{ '8080': '80' }, { ...ANY, hostPort: 8080, containerPort: 80 }],
    [{ '1': '65535' }, { ...ANY, hostPort: 1, containerPort: 65535 }],
    [{ '53': '53/udp' }, { ...ANY, hostPort: 53, containerPort: 53, protocol: 'udp' }],
    [{ '80': '8080/tcp' }, { ...ANY, hostPort: 80, containerPort: 8080 }],
    [{ '9': '9/sctp' }, { ...ANY, hostPort: 9, containerPort: 9, protocol: 'sctp' }],
    [{ '127.0.0.1:8080': '80' }, { ...ANY, address: '127.0.0.1', hostPort: 8080, containerPort: 80 }],
    [{ '[::1]:53': '5353/udp' }, { address: '::1', hostPort: 53, containerPort: 5353, protocol: 'udp' }],
  ])('%j maps a port of the device to one of the container', (entry, mapping) => {
    expect(problemOf(entry)).toBeNull();
    expect(parsePort(entry)).toEqual(mapping);
  });

  it.each<[unknown, RegExp]>([
    [0, /"80"}$/],
    [65536, /"80"}$/],
    [80.5, /"80"}$/],
    ['80', /; write a single port without quotes$/],
    ['8080:80', /; put each of the two ports in its own quotes$/],
    ['127.0.0.1:8080:80', /; put each of the two ports in its own quotes$/],
    ['53/udp', /; write {"53": "53\/udp"} for udp$/],
    ['5353:53/udp', /; write {"5353": "53\/udp"} for udp$/],
    [{ '8080': 80 }, /; put each of the two ports in its own quotes$/],
    [-1, /"80"}$/],
    [[80], /"80"}$/],
    [{}, /"80"}$/],
    [{ http: '80' }, /"80"}/],
    [{ '80': '65536' }, /"80"}$/],
    [{ '1': '1', '2': '2' }, /"80"}$/],
    [{ '080': '80' }, /"80"}$/],
    [{ '0': '80' }, /"80"}$/],
    [{ '65536': '80' }, /"80"}$/],
    [{ '53/udp': '53' }, /; the protocol belongs to the port of the container, as in {"53": "53\/udp"}$/],
    [{ '53': '53/icmp' }, /"80"}$/],
    [{ '8000-8010': '8000-8010' }, /; write each port of a range as a pair of its own$/],
    [{ 'localhost:8080': '80' }, /; before the port of the host comes an IP address/],
    [{ '127.0.0.256:8080': '80' }, /; before the port of the host comes an IP address/],
    [{ '::1:8080': '80' }, /an IPv6 address in \[\]$/],
    [{ '[::1::]:8080': '80' }, /"80"}/],
    [{ '8080': '127.0.0.1:80' }, /"80"}$/],
    [null, /"80"}$/],
  ])('is not %j', (entry, message) => {
    expect(problemOf(entry)).toMatch(message);
  });
});
