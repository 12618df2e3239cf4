import type { FastifyInstance } from 'fastify';
import { HoldfastError, messageOf } from '../errors.ts';

/** Listens; resolves to the address. Rejects with a HoldfastError that tells people what to set. */
export async function listen(server: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    const message = `cannot listen on port ${port} of ${host}: ${reasonOf(error)}`;
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return 'another program has it; end that one, or set PORT to another';
  if (code === 'EACCES') return 'this user may not; set PORT to one above 1023';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'HOST is no address of this machine';
  return messageOf(error);
}
