import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Many devices: each keeps one connection and polls every ten seconds. Prints `connected` when all have got their
 * first reply, and at the end how many replies, errors, and milliseconds there were.
 */
const [port, authorization, path, count, seconds] = process.argv.slice(2);
const INTERVAL = 10_000;
const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n\r\n`;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

const latencies = [];
let errors = 0;
let isCounting = false;
let isOver = false;

/** One device; resolves with its first reply. */
function startPoller() {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.setNoDelay(true);
    let sent = 0;
    let received = Buffer.alloc(0);
    const poll = () => {
      if (isOver) return;
      sent = performance.now();
      socket.write(request);
    };
    const finish = (isGood) => {
      if (isCounting) latencies.push(performance.now() - sent);
      if (!isGood) errors += 1;
      resolve();
      setTimeout(poll, INTERVAL);
    };
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const head = received.indexOf(END_OF_HEAD);
      if (head < 0) return;
      const text = received.toString('latin1', 0, head);
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (received.length < head + 4 + length) return;
      received = Buffer.alloc(0);
      finish(text.startsWith('HTTP/1.1 200'));
    });
    socket.on('error', () => {
      errors += 1;
      resolve();
    });
    socket.on('close', () => {
      if (!isOver) errors += 1;
      resolve();
    });
    poll();
  });
}

const all = [];
// Spread over one interval, as devices are.
for (let index = 0; index < Number(count); index++) {
  all.push(startPoller());
  if (index % 10 === 9) await sleep((INTERVAL * 10) / Number(count));
}
await Promise.all(all);
process.stdout.write('connected\n');
isCounting = true;
await sleep(Number(seconds) * 1000);
isOver = true;
latencies.sort((a, b) => a - b);
const p = (part) => latencies[Math.max(0, Math.ceil(part * latencies.length) - 1)];
process.stdout.write(
  `${JSON.stringify({ polls: latencies.length, errors, p50: p(0.5), p99: p(0.99), max: p(1) })}\n`,
  () => process.exit(0),
);
