/**
 * Runs before each test file: fails a file that leaves the process modified, or a server, process or watch running.
 * Files run one after another in a shared process (`isolate: false`), so that would disturb the files after it.
 */
import { afterAll, expect, vi } from 'vitest';

const environment = { ...process.env };

/** What a file may not change. Of environment variables it has the names alone, since values can be secret. */
function stateOfProcess() {
  const names = new Set([...Object.keys(environment), ...Object.keys(process.env)]);
  return {
    changedVariables: [...names].filter((name) => process.env[name] !== environment[name]),
    folder: process.cwd(),
    umask: process.umask(),
    isClockFake: vi.isFakeTimers(),
    // Packages may add globals such as `__name` when they are loaded.
    globals: Object.getOwnPropertyNames(globalThis).filter((name) => !name.startsWith('__')),
    signals: process.eventNames().filter((name) => String(name).startsWith('SIG')),
  };
}

const HANDLES = ['TCPServerWrap', 'PipeServerWrap', 'ProcessWrap', 'FSEventWrap'];

/** The kinds of all open servers, processes and watches. */
function handles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => HANDLES.includes(name));
}

/** Those that were not open before this file. Fewer than before are no leak: some may just have ended. */
function leftHandles(): string[] {
  const earlier = [...before.handles];
  return handles().filter((name) => {
    const at = earlier.indexOf(name);
    if (at !== -1) earlier.splice(at, 1);
    return at === -1;
  });
}

const before = { state: stateOfProcess(), handles: handles() };

// `afterAll` hooks run in reverse order, so this one, as the first, runs last.
afterAll(async () => {
  expect(stateOfProcess(), 'this file left the process modified').toEqual(before.state);
  // Processes and servers may take a moment to end.
  await vi.waitFor(() => expect(leftHandles(), 'this file left something running').toEqual([]), 60_000);
});
