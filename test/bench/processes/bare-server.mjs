import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

/** The smallest `node:http` server: sends the headers and body from a file for every request, without authentication. */
const reply = JSON.parse(await readFile(process.argv[2], 'utf8'));
const body = Buffer.from(reply.body);
const server = createServer((_request, response) => {
  response.writeHead(200, reply.headers);
  response.end(body);
});
server.keepAliveTimeout = 75_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`listening on ${server.address().port}\n`);
