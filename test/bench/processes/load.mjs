import { text } from 'node:stream/consumers';
import autocannon from 'autocannon';

/**
 * Sends a load by autocannon, for `duration` seconds or until `amount` requests were sent. Its list of requests is copied for
 * each connection, which with a thousand of them is more than the processor's caches hold and then measures the load; so each
 * connection takes its share of them.
 */
const { address, requests, headers, connections, duration, amount } = JSON.parse(await text(process.stdin));
let started = 0;
const start = performance.now();
let last = start;
const load = autocannon({
  url: address,
  connections,
  ...(amount === undefined ? { duration } : { amount }),
  setupClient: (client) => {
    const own = requests.filter(
      (_, index) => index % connections === started % Math.min(connections, requests.length),
    );
    started += 1;
    client.setRequests(
      own.map((request) => ({ method: 'GET', ...request, headers: { ...headers, ...request.headers } })),
    );
  },
});
if (amount !== undefined) {
  load.on('response', () => {
    last = performance.now();
  });
}
const result = await load;
// Autocannon checks only once a second whether all requests were sent.
if (amount !== undefined) result.duration = (last - start) / 1000;
process.stdout.write(`${JSON.stringify(result)}\n`);
