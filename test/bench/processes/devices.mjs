import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Many devices as workers are: each keeps one connection, polls every ten seconds with its name, its number and the tags of what it
 * was given and has done, and reports every minute. Of ten, one reports another state each time; of twenty, one is switched off
 * half-way. Prints `connected` when all have got their first reply, and at the end the milliseconds of the polls, and what each
 * device has said that was answered.
 */
const { port, authorization, groups, count, seconds } = JSON.parse(await text(process.stdin));
const INTERVAL = 10_000;
const POLLS_PER_REPORT = 6;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

const latencies = [];
let errors = 0;
let reports = 0;
let isCounting = false;
let isOver = false;
let isHalf = false;

class Device {
  constructor(index) {
    this.name = `store-${String(index).padStart(6, '0')}`;
    this.group = groups[index % groups.length];
    this.instance = (index + 0x10000000).toString(16);
    this.changes = index % 10 === 0;
    this.leaves = index % 20 === 7;
    this.polls = index % POLLS_PER_REPORT;
    this.newest = null;
    this.done = null;
    /** What was answered last: the tag that was sent, and whether the last report had an app that fails. */
    this.said = null;
    this.failing = false;
    this.willFail = false;
    this.received = Buffer.alloc(0);
    this.connected = new Promise((resolve) => {
      this.first = resolve;
    });
    this.socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.socket.on('data', (chunk) => this.read(chunk));
    this.socket.on('error', () => this.lost());
    this.socket.on('close', () => this.lost());
    this.poll();
  }

  lost() {
    // The manager closes a connection that is not used.
    if (!isOver && !(isHalf && this.leaves)) errors += 1;
    this.first();
  }

  send(head, body = '') {
    const common = `Host: 127.0.0.1\r\nAuthorization: ${authorization}\r\nHoldfast-Device: ${this.name}\r\n`;
    this.socket.write(`${head} HTTP/1.1\r\n${common}${body}`);
  }

  poll() {
    if (isOver || (isHalf && this.leaves)) return;
    const tags =
      this.newest === null
        ? ''
        : `If-None-Match: ${this.newest}${this.done === this.newest ? '' : `, ${this.done ?? '"none"'}`}\r\n`;
    this.sent = performance.now();
    this.answered = (response) => {
      if (isCounting) latencies.push(performance.now() - this.sent);
      if (!/^HTTP\/1\.1 (200|304)/.test(response)) errors += 1;
      this.said = this.done;
      this.done = this.newest;
      if (response.startsWith('HTTP/1.1 200'))
        this.newest = /\r\netag: ([^\r]+)/i.exec(response)?.[1] ?? null;
      this.first();
      this.polls += 1;
      if (this.polls % POLLS_PER_REPORT === 0) this.report();
      setTimeout(() => this.poll(), INTERVAL);
    };
    this.send(
      `GET /api/v2/device_groups/${this.group}/info`,
      `Holdfast-Instance: ${this.instance}\r\n${tags}\r\n`,
    );
  }

  report() {
    this.willFail = this.changes && !this.willFail;
    const apps = Array.from({ length: 10 }, (_, index) => ({
      name: `app-${index}`,
      wanted_id: 7,
      running_id: 7,
      state: index === 0 && this.willFail ? 'failing' : 'running',
      image: `registry.example.com/team/service-${index}:1.7.0`,
      error: null,
    }));
    const body = JSON.stringify({
      hostname: this.name,
      device_group: this.group,
      report_creation_time: Math.floor(Date.now() / 1000),
      worker: { version: '1.2.0', engine: 'docker 27.0' },
      applied: this.done,
      apps,
    });
    const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    this.answered = (response) => {
      if (!response.startsWith('HTTP/1.1 200')) errors += 1;
      this.failing = this.willFail;
      reports += 1;
    };
    this.send('POST /api/v2/reports', length + body);
  }

  read(chunk) {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    const head = this.received.indexOf(END_OF_HEAD);
    if (head < 0) return;
    const response = this.received.toString('latin1', 0, head);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(response)?.[1] ?? 0);
    const isWhole = response.startsWith('HTTP/1.1 304') || this.received.length >= head + 4 + length;
    if (!isWhole) return;
    this.received = Buffer.alloc(0);
    this.answered(response);
  }
}

const devices = [];
// Spread over one interval, as devices are.
for (let index = 0; index < count; index++) {
  devices.push(new Device(index));
  if (index % 10 === 9) await sleep((INTERVAL * 10) / count);
}
await Promise.all(devices.map(({ connected }) => connected));
process.stdout.write('connected\n');
isCounting = true;
await sleep(seconds * 500);
isHalf = true;
await sleep(seconds * 500);
isOver = true;
// What is on the way is answered.
await sleep(3000);
latencies.sort((a, b) => a - b);
const p = (part) => latencies[Math.max(0, Math.ceil(part * latencies.length) - 1)];
const said = devices.map(({ group, said, failing, leaves }) => ({ group, said, failing, leaves }));
const result = { polls: latencies.length, reports, errors, p50: p(0.5), p99: p(0.99), max: p(1), said };
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
