import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { JSON_TYPE, NO_SNIFFING } from '../json.ts';

/** The replies to some of the errors that Node reports when it cannot read a request, by code. All others are a 400. */
const REPLIES: Readonly<Record<string, { status: number; type: string; body: string }>> = {
  // The request may be a poll over a bad connection, and workers stop their containers on any JSON without `apps`.
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    type: 'text/plain; charset=utf-8',
    body: 'the request took too long to arrive\n',
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    type: JSON_TYPE,
    body: '{"error":"the headers are too large"}',
  },
};

/** Returns the 400 for bytes that are not HTTP, with the reason of the parser. */
function notHttp(reason: string | undefined): (typeof REPLIES)[string] {
  const why = reason === undefined ? '' : `: ${reason}`;
  const body = JSON.stringify({ error: `this is not an HTTP/1.1 request${why}` });
  return { status: 400, type: JSON_TYPE, body };
}

/** Answers bytes that cannot be parsed as a request, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException & { reason?: string }, socket: Socket): void {
  const { code, reason } = error;
  const { status, type, body } = REPLIES[code ?? ''] ?? notHttp(reason);
  if (code !== 'ECONNRESET' && socket.writable) {
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'connection: close',
      `content-type: ${type}`,
      NO_SNIFFING.join(': '),
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroy();
}
