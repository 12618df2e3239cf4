import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { descriptorAdvice, HoldfastError, messageOf } from '../errors.ts';

/**
 * Listens and resolves to the server's real address, as a URL; fastify would report 127.0.0.1 for 0.0.0.0. Rejects with
 * a HoldfastError that says which setting to change.
 */
export async function listen(server: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    const message = `cannot listen on port ${port} of ${host}: ${reasonOf(error)}`;
    throw new HoldfastError('unavailable', message, {}, error);
  }
  const { address, family, port: taken } = server.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
}

/** EAFNOSUPPORT is for an IPv6 address on a machine without IPv6, EINVAL for a link-local address without its zone. */
const NO_ADDRESS = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAFNOSUPPORT', 'EINVAL']);

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return 'it is in use by another program; stop that one, or set PORT to another';
  if (code === 'EACCES') return 'this user may not; set PORT to 1024 or higher';
  if (NO_ADDRESS.has(code ?? '')) return 'HOST is not an address of this machine';
  return descriptorAdvice(code ?? '') ?? messageOf(error);
}
