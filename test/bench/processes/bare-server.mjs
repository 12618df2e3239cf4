import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

/** The least that node:http can do: the bytes of a file, for every request, to everybody. */
const body = await readFile(process.argv[2]);
const server = createServer((_request, response) => {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
});
server.keepAliveTimeout = 75_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`listening on ${server.address().port}\n`);
