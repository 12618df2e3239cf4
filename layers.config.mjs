/**
 * The layers of `src/`, and which layers each may import. dependency-cruiser.config.mjs enforces this table and
 * docs/architecture.md shows it; a test checks that the two agree.
 *
 * `may` lists the folders (or files) of `src/` that the layer may import, besides itself. A layer with `pure` does no
 * I/O and imports only the packages listed there.
 */
export const layers = {
  errors: { may: [], pure: [], promise: 'errors of a known kind; the kind decides the reaction' },
  async: { may: [], promise: 'queues, limits of concurrency, yielding: when tasks run, not what they do' },
  disk: {
    may: ['errors', 'async'],
    promise: 'fast reads of small files, and writes that survive a loss of power',
  },
  faults: { may: ['errors'], pure: [], promise: 'points at which tests kill the process' },
  settings: { may: [], pure: ['zod'], promise: 'every setting: its type, default and meaning' },
  suggest: { may: [], pure: [], promise: 'the name that a misspelt one probably stands for' },
  config: {
    may: ['errors', 'settings', 'suggest'],
    pure: [],
    promise: 'turns (env, argv) into settings, or reports every problem at once',
  },
  protocol: {
    may: [],
    pure: ['zod'],
    promise: 'what manager, worker and command line say to each other: apps, device groups, /info, reports',
  },
  desired: {
    may: ['errors', 'protocol'],
    pure: ['zod', 'yaml'],
    promise: 'what a folder of YAML means, and how to edit it',
  },
  plan: {
    may: ['protocol', 'desired'],
    pure: [],
    promise: 'turns desired and applied state into ordered steps; ids; descriptions for people',
  },
  source: {
    may: ['errors', 'async', 'disk', 'faults', 'protocol', 'desired'],
    promise: 'where revisions come from and where commits go',
  },
  store: {
    may: ['errors', 'async', 'disk', 'protocol', 'desired', 'plan'],
    promise: 'applied objects, ids, operations, reports',
  },
  reconcile: {
    may: ['errors', 'async', 'faults', 'protocol', 'desired', 'plan', 'source', 'store'],
    promise: 'a pass, when passes run, the status',
  },
  change: {
    may: ['errors', 'async', 'faults', 'protocol', 'desired', 'plan', 'source', 'store', 'reconcile'],
    promise: 'an API write becomes a commit, and waits until it is applied',
  },
  fleet: { may: ['protocol'], promise: 'the devices that poll this manager' },
  http: {
    may: ['errors', 'async', 'protocol', 'desired', 'plan', 'store', 'reconcile', 'change', 'fleet'],
    promise: 'the manager API, served from the store',
  },
  cli: {
    may: ['errors', 'settings', 'suggest', 'config', 'protocol', 'desired', 'plan', 'source'],
    promise: 'validate, plan, import, store copy, help, completion in shells',
  },
  service: { may: ['*'], promise: 'builds every object by hand and passes it in' },
  program: { may: ['*'], promise: 'the process: argv, signals, exit code' },
  main: {
    may: ['program'],
    promise: 'the entry point: checks the version of Node, then loads the program',
  },
};
