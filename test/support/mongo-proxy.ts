import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { BSON, MongoClient } from 'mongodb';

/** What the proxy does with one command. */
export type Verdict =
  | 'pass'
  /** The connection breaks, and the server never sees the command. */
  | 'cut-before'
  /** The server carries it out, and the connection breaks instead of the reply. */
  | 'cut-after'
  /** The server carries it out, and nothing more comes. */
  | 'hang'
  /** It goes on a little later. */
  | 'delay'
  /** The reply of a server that is no primary any more, which did nothing. */
  | 'not-primary'
  /** The reply of a server that stepped down in the middle: it may have happened, and here it has. */
  | 'stepped-down';

/** Judges a command by its name and its place among those of that name, counted from 1. */
export type Judge = (command: string, count: number) => Verdict;

const OP_MSG = 2013;
const HEADER = 16;
const DELAY = 50;

const NOT_PRIMARY = { ok: 0, code: 10_107, codeName: 'NotWritablePrimary', errmsg: 'not primary' };
const STEPPED_DOWN = {
  ok: 0,
  code: 11_602,
  codeName: 'InterruptedDueToReplStateChange',
  errmsg: 'operation was interrupted',
};

interface Address {
  host: string;
  port: number;
}

/** The primary of a replica set, and of others the first server of the URI. */
async function primaryOf(uri: string): Promise<Address> {
  const client = new MongoClient(uri);
  try {
    const hello = await client
      .db('admin')
      .command({ hello: 1 })
      .catch(() => ({ primary: undefined }));
    const first = client.options.hosts[0]?.toString() ?? '';
    const [host = '', port = ''] = String(hello['primary'] ?? first).split(':');
    return { host, port: Number(port) };
  } finally {
    await client.close();
  }
}

/** A TCP proxy between driver and server that reads the commands on their way. */
export class MongoProxy {
  readonly #server: Server;
  readonly #target: Address;
  readonly #sockets = new Set<Socket>();
  readonly #counts = new Map<string, number>();
  #judge: Judge = () => 'pass';
  #isOpen = true;

  private constructor(server: Server, target: Address) {
    this.#server = server;
    this.#target = target;
  }

  /** Stands before the server that takes writes. */
  static async start(uri: string): Promise<MongoProxy> {
    const target = await primaryOf(uri);
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new MongoProxy(server, target);
    server.on('connection', (client) => proxy.#serve(client));
    return proxy;
  }

  get uri(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `mongodb://127.0.0.1:${port}/?directConnection=true`;
  }

  /** Judges every command from now on. */
  judge(judge: Judge): void {
    this.#counts.clear();
    this.#judge = judge;
  }

  /** Breaks every connection, and every new one. */
  goAway(): void {
    this.#isOpen = false;
    this.closeAll();
  }

  comeBack(): void {
    this.#isOpen = true;
  }

  closeAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.closeAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    if (!this.#isOpen) return void client.destroy();
    const upstream = connect(this.#target.port, this.#target.host);
    const both = [client, upstream];
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        for (const other of both) other.destroy();
      });
    }
    /** What to do with the reply that comes next, and which request it answers. */
    let next: { verdict: Verdict; request: Buffer } | null = null;
    let turn = Promise.resolve();
    onMessages(client, (message) => {
      turn = turn.then(async () => {
        const verdict = this.#verdictOn(message);
        if (verdict === 'cut-before') return void client.destroy();
        if (verdict === 'not-primary') return void client.write(reply(message, NOT_PRIMARY));
        if (verdict === 'delay') await new Promise((later) => setTimeout(later, DELAY));
        next = { verdict, request: message };
        upstream.write(message);
      });
    });
    onMessages(upstream, (message) => {
      const verdict = next?.verdict ?? 'pass';
      if (verdict === 'cut-after') client.destroy();
      else if (verdict === 'stepped-down' && next !== null) client.write(reply(next.request, STEPPED_DOWN));
      else if (verdict !== 'hang') client.write(message);
    });
  }

  #verdictOn(message: Buffer): Verdict {
    const command = commandOf(message);
    if (command === null) return 'pass';
    const count = (this.#counts.get(command) ?? 0) + 1;
    this.#counts.set(command, count);
    return this.#judge(command, count);
  }
}

/** Cuts the stream into messages of the wire protocol; the first four bytes of each are its length. */
function onMessages(socket: Socket, take: (message: Buffer) => void): void {
  let buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    while (buffer.length >= 4 && buffer.length >= buffer.readInt32LE(0)) {
      const length = buffer.readInt32LE(0);
      take(Buffer.from(buffer.subarray(0, length)));
      buffer = buffer.subarray(length);
    }
  });
}

/** The name of the command, which is the first key of its body; null for what is none. */
function commandOf(message: Buffer): string | null {
  if (message.readInt32LE(12) !== OP_MSG) return null;
  const body = message.subarray(HEADER + 5, HEADER + 5 + message.readInt32LE(HEADER + 5));
  return Object.keys(BSON.deserialize(body))[0] ?? null;
}

function reply(request: Buffer, body: Record<string, unknown>): Buffer {
  const document = BSON.serialize(body);
  const head = Buffer.alloc(HEADER + 5);
  head.writeInt32LE(head.length + document.length, 0);
  head.writeInt32LE(1, 4);
  head.writeInt32LE(request.readInt32LE(4), 8);
  head.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([head, document]);
}
