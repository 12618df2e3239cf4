import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '1.47.0';
const NAME = `mongo-java-server ${VERSION}, in memory, with one thread`;
const CACHE = resolve('node_modules/.cache/mongo-java-server');
/** Time limit of the download and the compiler together, in milliseconds. */
const BUILD_LIMIT = 300_000;
/** Milliseconds from the start of the server until it listens. */
const START_LIMIT = 30_000;

const run = promisify(execFile);

/**
 * The server changes a document in place, field by field, while another thread can be sending it to a reader. With one
 * thread for all connections, each command and its reply are finished before the next command starts.
 */
const ONE_THREAD = '-Dio.netty.eventLoopThreads=1';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>holdfast</groupId>
  <artifactId>stand-in</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>de.bwaldvogel</groupId>
      <artifactId>mongo-java-server</artifactId>
      <version>${VERSION}</version>
    </dependency>
  </dependencies>
</project>
`;

/** The server reports a version of its own, because the default one is too old for the driver. */
const PROGRAM = `import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

public class StandIn {
  static class Version implements MongoVersion {
    public List<Integer> getVersionArray() { return List.of(5, 0, 0); }
    public int getWireVersion() { return 13; }
  }

  public static void main(String[] arguments) {
    MemoryBackend backend = new MemoryBackend();
    backend.version(new Version());
    new MongoServer(backend).bind("127.0.0.1", Integer.parseInt(arguments[0]));
  }
}
`;

/** A running server. */
export interface RunningServer {
  uri: string;
  /** Ends the server. */
  stop(): Promise<void>;
}

/**
 * Starts mongo-java-server, which keeps its data in memory, on a free port of the loopback, and prints its address. The
 * first run downloads it with Maven. If it cannot be started, prints the reason in one line and resolves to null.
 */
export async function startStandIn(): Promise<RunningServer | null> {
  try {
    const server = await start(await build());
    process.stdout.write(`a stand-in for MongoDB listens at ${server.uri}: ${NAME}\n`);
    return server;
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    process.stdout.write(`no stand-in for MongoDB: ${NAME} (${reason}); its tests are left out\n`);
    return null;
  }
}

/** Builds the program, unless it is in the cache; resolves to the folder with the program and its libraries. */
async function build(): Promise<string> {
  const target = join(CACHE, VERSION);
  const isBuilt = await access(target).then(
    () => true,
    () => false,
  );
  if (isBuilt) return target;
  await mkdir(CACHE, { recursive: true });
  const work = await mkdtemp(join(CACHE, 'build-'));
  try {
    const options = { cwd: work, signal: AbortSignal.timeout(BUILD_LIMIT) };
    await writeFile(join(work, 'pom.xml'), POM);
    await writeFile(join(work, 'StandIn.java'), PROGRAM);
    const copy = ['dependency:copy-dependencies', '-DoutputDirectory=.', '-DincludeScope=runtime'];
    await run('mvn', ['--batch-mode', '--quiet', ...copy], options);
    await run('javac', ['-cp', '*', 'StandIn.java'], options);
    await rename(work, target);
    return target;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Starts the program in this folder; rejects if it does not listen in time. */
async function start(classes: string): Promise<RunningServer> {
  const port = await freePort();
  const child = spawn('java', [ONE_THREAD, '-cp', `${classes}:${classes}/*`, 'StandIn', `${port}`], {
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  await listening(port).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { uri: `mongodb://127.0.0.1:${port}/`, stop };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(port: number): Promise<void> {
  const end = Date.now() + START_LIMIT;
  while (Date.now() < end) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`nothing listens on port ${port}`);
}
