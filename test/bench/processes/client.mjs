import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * One client on one connection, in a process without other work: garbage collections of the measuring process
 * would distort its figures. Requests each path once, or with `pause` (milliseconds) repeats them until its input
 * ends. Prints the milliseconds of each reply.
 */
const { address, paths, headers, pause } = JSON.parse(process.argv[2]);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const latencies = [];

const send = (path) =>
  new Promise((resolve, reject) => {
    const start = performance.now();
    const sent = request(address + path, { agent, headers }, (response) => {
      response.on('error', reject).on('end', () => {
        latencies.push(performance.now() - start);
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${path}: ${response.statusCode}`));
      });
      response.resume();
    });
    sent.on('error', reject).end();
  });

if (pause === undefined) {
  for (const path of paths) await send(path);
} else {
  let isOver = false;
  process.stdin.resume().once('end', () => {
    isOver = true;
  });
  for (let turn = 0; !isOver; turn++) {
    await send(paths[turn % paths.length]);
    await sleep(pause);
  }
}
agent.destroy();
process.stdout.write(`${JSON.stringify(latencies)}\n`);
