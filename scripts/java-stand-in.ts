import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { exists, type RunningServer, startLocalServer, startOrReport } from './local-server.ts';

const VERSION = '1.47.0';
const CACHE = resolve('node_modules/.cache/mongo-java-server');
/** Time limit of the download and the compiler together, in milliseconds. */
const BUILD_LIMIT = 300_000;

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

/**
 * Starts mongo-java-server, which keeps its data in memory, on a free port of the loopback. The first run downloads it
 * with Maven. If it cannot be started, prints one line and resolves to null.
 */
export function startJavaStandIn(): Promise<RunningServer | null> {
  return startOrReport(`mongo-java-server ${VERSION}, in memory, with one thread`, async () => {
    const classes = await build();
    return startLocalServer((port) => [
      'java',
      ONE_THREAD,
      '-cp',
      `${classes}:${classes}/*`,
      'StandIn',
      `${port}`,
    ]);
  });
}

/** Builds the program, unless it is in the cache; resolves to the folder with the program and its libraries. */
async function build(): Promise<string> {
  const target = join(CACHE, VERSION);
  if (await exists(target)) return target;
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
