import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { BSON, MongoClient } from 'mongodb';

/** What the proxy does with one command. */
export type Verdict =
  | 'pass'
  /** Breaks the connection before the server gets the command. */
  | 'cut-before'
  /** Breaks the connection after the server has carried out the command, in place of its reply. */
  | 'cut-after'
  /** Keeps back the reply of the server, which has carried out the command. */
  | 'hang'
  /** Passes the command on after 50 ms. */
  | 'delay'
  /** Replies as a server that is not the primary; the server does not get the command. */
  | 'not-primary'
  /** Replies as a server that stepped down during the command, which the server has carried out. */
  | 'stepped-down';

/** Decides about a command by its name; `count` is its number among the commands of that name, from 1. */
export type Judge = (command: string, count: number) => Verdict;

const OP_MSG = 2013;
const HEADER = 16;
/** Milliseconds. */
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

/** The primary of a replica set; of other deployments, the first server of the URI. */
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

/** A TCP proxy between the driver and a MongoDB server that can disturb single commands. */
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

  /** Starts a proxy in front of the server at this URI that accepts writes. */
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

  /** Has `judge` decide about every command from now on; its counts begin at 1. */
  judge(judge: Judge): void {
    this.#counts.clear();
    this.#judge = judge;
  }

  /** Breaks all connections, and refuses new ones until `comeBack`. */
  goAway(): void {
    this.#isOpen = false;
    this.closeAll();
  }

  comeBack(): void {
    this.#isOpen = true;
  }

  /** Breaks all connections; new ones are accepted. */
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
    /** The verdict on the request whose reply comes next. */
    let next: { verdict: Verdict; request: Buffer } | null = null;
    let previous = Promise.resolve();
    onMessages(client, (message) => {
      previous = previous.then(async () => {
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

/** Splits the stream into messages of the wire protocol, whose first four bytes are their length. */
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

/** The name of the command in a message, which is the first key of its body; null if it has none. */
function commandOf(message: Buffer): string | null {
  if (message.readInt32LE(12) !== OP_MSG) return null;
  const body = message.subarray(HEADER + 5, HEADER + 5 + message.readInt32LE(HEADER + 5));
  return Object.keys(BSON.deserialize(body))[0] ?? null;
}

/** The bytes of a reply to a request. */
function reply(request: Buffer, body: Record<string, unknown>): Buffer {
  const document = BSON.serialize(body);
  const head = Buffer.alloc(HEADER + 5);
  head.writeInt32LE(head.length + document.length, 0);
  head.writeInt32LE(1, 4);
  head.writeInt32LE(request.readInt32LE(4), 8);
  head.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([head, document]);
}
