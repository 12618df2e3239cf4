/**
 * Who may import whom: the one table of layers. The checker (dependency-cruiser.config.mjs) enforces it and
 * docs/architecture.md shows it; a test holds the two together.
 *
 * `may` lists the folders (or files) of `src/` that the layer may import, besides itself. A layer with
 * `types` may also import those, as types only. A `pure` layer does no I/O and imports only the packages it lists.
 */
export const layers = {
  errors: { may: [], pure: [], promise: 'errors of a known kind; the kind decides the reaction' },
  async: { may: [], promise: 'queues, lanes and turns: when things run, not what they do' },
  disk: {
    may: ['errors', 'async'],
    promise: 'small files read in few turns, files that outlive a loss of power',
  },
  faults: { may: ['errors'], pure: [], promise: 'points at which tests let the process die' },
  settings: { may: [], pure: ['zod'], promise: 'every setting: its type, default and meaning' },
  suggest: { may: [], pure: [], promise: 'the name that a misspelt one probably stands for' },
  config: {
    may: ['errors', 'settings', 'suggest'],
    pure: ['node:util'],
    promise: '(env, argv) to settings, or every problem at once',
  },
  desired: {
    may: ['errors'],
    pure: ['zod', 'yaml'],
    promise: 'what a folder of YAML means, and how to edit it',
  },
  plan: {
    may: ['desired'],
    pure: [],
    promise: 'desired and applied to ordered steps; ids; how to tell people',
  },
  source: {
    may: ['errors', 'async', 'disk', 'faults', 'desired'],
    promise: 'where revisions come from and where commits go',
  },
  store: {
    may: ['errors', 'async', 'disk', 'desired', 'plan'],
    promise: 'applied objects, ids, operations, reports',
  },
  reconcile: {
    may: ['errors', 'async', 'faults', 'desired', 'plan', 'source', 'store'],
    promise: 'one pass, the loop, the status',
  },
  change: {
    may: ['errors', 'async', 'faults', 'desired', 'plan', 'source', 'store', 'reconcile'],
    promise: 'an API write becomes a commit, and waits until it is applied',
  },
  http: {
    may: ['errors', 'async', 'desired', 'plan', 'store', 'reconcile', 'change'],
    promise: 'the manager API, served from the store',
  },
  cli: {
    may: ['errors', 'settings', 'suggest', 'config', 'desired', 'plan', 'source'],
    promise: 'validate, plan, import, store copy, help',
  },
  service: { may: ['*'], promise: 'builds every object by hand and passes it in' },
  program: { may: ['*'], promise: 'the process: argv, signals, exit code' },
  main: {
    may: ['program'],
    promise: 'what is started: looks at the version of Node, then loads the program',
  },
};
