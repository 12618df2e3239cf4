import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { JSON_TYPE } from '../json.ts';

/** Node's codes for what it cannot read as a request, with their replies; anything else is a 400. */
const REPLIES: Readonly<Record<string, { status: number; type: string; body: string }>> = {
  // It may have been a poll on a bad line, and a worker takes any JSON without `apps` for the end.
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

/** The 400 of what is not HTTP, with the parser's reason. */
function noHttp(reason: string | undefined): (typeof REPLIES)[string] {
  const why = reason === undefined ? '' : `: ${reason}`;
  const body = JSON.stringify({ error: `this is not an HTTP/1.1 request${why}` });
  return { status: 400, type: JSON_TYPE, body };
}

/** Answers what cannot be parsed as a request, and closes its connection. */
export function answerClientError(error: NodeJS.ErrnoException & { reason?: string }, socket: Socket): void {
  const { code, reason } = error;
  const { status, type, body } = REPLIES[code ?? ''] ?? noHttp(reason);
  if (code !== 'ECONNRESET' && socket.writable) {
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'connection: close',
      `content-type: ${type}`,
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroy();
}
