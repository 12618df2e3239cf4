import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { JSON_TYPE, NO_SNIFFING } from '../json.ts';

interface Answer {
  status: number;
  type: string;
  body: string;
}

/** The request may be a poll over a bad connection, and workers stop their containers on any JSON without `apps`. */
const TOO_SLOW: Answer = {
  status: 408,
  type: 'text/plain; charset=utf-8',
  body: 'the request took too long to arrive\n',
};

/** Returns the error of bytes that are not HTTP, with the reason of the parser. */
function notHttp(status: number, reason: string | undefined): Answer {
  const why = reason === undefined ? '' : `: ${reason}`;
  const body = JSON.stringify({ error: `this is not an HTTP/1.1 request${why}` });
  return { status, type: JSON_TYPE, body };
}

function answerTo(code: string | undefined, reason: string | undefined): Answer {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return TOO_SLOW;
  return notHttp(code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, reason);
}

/** Answers bytes that cannot be parsed as a request, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException & { reason?: string }, socket: Socket): void {
  const { code, reason } = error;
  const { status, type, body } = answerTo(code, reason);
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
