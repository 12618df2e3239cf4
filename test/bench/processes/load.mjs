import autocannon from 'autocannon';

/**
 * Sends a load by autocannon. Its list of requests is copied for each connection, which with a thousand paths is more
 * than the processor's caches hold and then measures the load; so each connection takes its share of the paths.
 */
const { address, paths, headers, connections, duration } = JSON.parse(process.argv[2]);
let started = 0;
const result = await autocannon({
  url: address,
  connections,
  duration,
  setupClient: (client) => {
    const own = paths.filter(
      (_, index) => index % connections === started % Math.min(connections, paths.length),
    );
    started += 1;
    client.setRequests(own.map((path) => ({ method: 'GET', path, headers })));
  },
});
process.stdout.write(`${JSON.stringify(result)}\n`);
