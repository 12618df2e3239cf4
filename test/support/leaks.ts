/**
 * Runs before each test file. Files share a process, one after the other (`isolate: false`): this fails a file that leaves
 * it other than it was.
 */
import { afterAll, expect, vi } from 'vitest';

const environment = { ...process.env };

/** What a file may not change. Of the environment the names are told, and not what can be secret. */
function stateOfProcess() {
  const names = new Set([...Object.keys(environment), ...Object.keys(process.env)]);
  return {
    changedVariables: [...names].filter((name) => process.env[name] !== environment[name]),
    folder: process.cwd(),
    umask: process.umask(),
    isClockFake: vi.isFakeTimers(),
    // What packages add for good when they are loaded is left out.
    globals: Object.getOwnPropertyNames(globalThis).filter((name) => !name.startsWith('__')),
    signals: process.eventNames().filter((name) => String(name).startsWith('SIG')),
  };
}

const HANDLES = ['TCPServerWrap', 'PipeServerWrap', 'ProcessWrap', 'FSEventWrap'];

/** Servers, processes and watches that are there. */
function handles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => HANDLES.includes(name));
}

/** Those that were not there before this file. Fewer are no leak: what an earlier file has left may end by now. */
function leftHandles(): string[] {
  const earlier = [...before.handles];
  return handles().filter((name) => {
    const at = earlier.indexOf(name);
    if (at !== -1) earlier.splice(at, 1);
    return at === -1;
  });
}

const before = { state: stateOfProcess(), handles: handles() };

// The first hook that is set is the last one that runs.
afterAll(async () => {
  expect(stateOfProcess(), 'this file left the process other than it was').toEqual(before.state);
  // What was told to end may be ending.
  await vi.waitFor(() => expect(leftHandles(), 'this file left something running').toEqual([]), 60_000);
});
