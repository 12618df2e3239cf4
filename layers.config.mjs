/**
 * The layers of `src/`, and which layers each may import. dependency-cruiser.config.mjs enforces this table and
 * docs/architecture.md shows it; a test checks that the two agree.
 *
 * `may` lists the folders (or files) of `src/` that the layer may import, besides itself. A layer with `pure` does no
 * I/O and imports only the packages listed there.
 */
export const layers = {
  errors: { may: [], pure: [], promise: 'errors of a known kind; the kind decides the reaction' },
  async: {
    may: ['errors'],
    promise: 'queues, limits of concurrency, yielding, delays: when tasks run, not what they do',
  },
  disk: {
    may: ['errors', 'async'],
    promise: 'fast reads of small files, and writes that survive a loss of power',
  },
  faults: { may: ['errors'], pure: [], promise: 'points at which tests kill the process' },
  events: { may: [], pure: [], promise: 'what happened, as data; listeners delay no pass and no write' },
  text: {
    may: [],
    pure: [],
    promise: 'text for people: in columns, and without characters that a terminal or a CI runner acts on',
  },
  log: {
    may: ['errors', 'text'],
    promise:
      'the log: lines of JSON, or readable ones on a terminal; what happens again and again once a minute',
  },
  version: { may: [], promise: 'the version of the program' },
  process: { may: [], promise: 'exit codes, output, signals and clocks of a process' },
  suggest: { may: [], pure: [], promise: 'the name that a misspelt one probably stands for' },
  settings: {
    may: ['errors', 'text', 'suggest'],
    pure: ['zod'],
    promise:
      'every setting: its type, default and meaning; reads them from (env, argv), or reports every problem',
  },
  protocol: {
    may: [],
    pure: ['zod'],
    promise: 'what manager, worker, command line and browsers say to each other',
  },
  desired: {
    may: ['errors', 'suggest', 'protocol'],
    pure: ['zod', 'yaml'],
    promise: 'what a folder of YAML means, and how to edit it',
  },
  compose: {
    may: ['protocol', 'desired'],
    pure: ['yaml', 'zod'],
    promise: 'turns a resolved Compose project into apps and a device group, and says what is left out',
  },
  ids: {
    may: ['errors', 'async', 'faults', 'events', 'protocol', 'desired'],
    promise: 'ids never fall: when they rise, their record, and what a start takes over from it',
  },
  plan: {
    may: ['text', 'protocol', 'desired'],
    pure: ['diff'],
    promise: 'turns desired and applied state into ordered steps; descriptions for people',
  },
  preview: {
    may: ['protocol', 'desired', 'plan'],
    pure: [],
    promise: 'what a manager has at a revision, and what a branch would change',
  },
  history: {
    may: ['protocol', 'desired', 'plan'],
    pure: [],
    promise: 'what a commit says and changed: who, when, why, and which fields of which objects',
  },
  rollback: {
    may: ['errors', 'text', 'protocol', 'desired', 'plan', 'history'],
    pure: [],
    promise: 'the way back: files as they were at a revision, or without what a commit changed',
  },
  source: {
    may: ['errors', 'async', 'disk', 'faults', 'protocol', 'desired', 'ids', 'history'],
    promise: 'where revisions come from and where commits go',
  },
  sqlite: {
    may: ['errors', 'async', 'disk'],
    promise: 'a file of SQLite: connections, transactions, errors, and whether it is still in place',
  },
  mongo: {
    may: ['errors'],
    promise: 'a database in MongoDB: its connection, errors, and what its server is',
  },
  store: {
    may: ['errors', 'async', 'disk', 'sqlite', 'mongo', 'protocol', 'desired', 'ids', 'plan', 'history'],
    promise: 'applied objects, ids, operations, the history, reports, devices',
  },
  reconcile: {
    may: [
      'errors',
      'async',
      'faults',
      'events',
      'protocol',
      'desired',
      'ids',
      'plan',
      'preview',
      'history',
      'source',
      'store',
    ],
    promise: 'a pass, when passes run, the status; indexes the history',
  },
  change: {
    may: [
      'errors',
      'async',
      'faults',
      'text',
      'protocol',
      'desired',
      'plan',
      'rollback',
      'source',
      'store',
      'reconcile',
    ],
    promise: 'an API write becomes a commit, and waits until it is applied',
  },
  fleet: {
    may: ['errors', 'async', 'protocol', 'store'],
    promise: 'hears the devices, and says which of them has what',
  },
  incidents: {
    may: ['desired', 'protocol', 'ids', 'reconcile', 'store'],
    pure: [],
    promise: 'what is wrong: when it began, and when it ended',
  },
  accounts: {
    may: ['errors', 'async', 'protocol'],
    promise: 'who somebody is, and what they may do',
  },
  http: {
    may: [
      'errors',
      'async',
      'log',
      'accounts',
      'events',
      'protocol',
      'desired',
      'ids',
      'plan',
      'store',
      'reconcile',
      'change',
      'fleet',
      'incidents',
      'version',
    ],
    promise: 'the manager API, served from the store',
  },
  'worker/settings': {
    may: ['settings', 'protocol'],
    pure: ['zod'],
    promise: 'every setting of the worker',
  },
  cli: {
    may: [
      'errors',
      'text',
      'process',
      'settings',
      'suggest',
      'protocol',
      'desired',
      'compose',
      'plan',
      'preview',
      'history',
      'rollback',
      'source',
      'worker/settings',
    ],
    promise: 'validate, plan, history, rollback, status, import, help, completion in shells',
  },
  'worker/plan': {
    may: ['protocol'],
    pure: ['zod', 'node:crypto'],
    promise: 'compares what a device should run with what it runs, and says what to do next',
  },
  'worker/http': {
    may: [],
    promise: 'a request over HTTP, to an address or a socket, with its limits; a server of the worker',
  },
  'worker/engine': {
    may: ['errors', 'async', 'protocol', 'worker/http', 'worker/plan'],
    promise: 'a client of the container engine, Docker',
  },
  'worker/data-dir': {
    may: ['errors', 'async', 'disk', 'protocol', 'worker/http', 'worker/plan'],
    promise: 'what the worker keeps in DATA_DIR: worker.json, and the socket that also locks the folder',
  },
  'worker/link': {
    may: ['errors', 'async', 'text', 'protocol', 'worker/http', 'worker/plan'],
    promise: 'polls the manager and sends reports to it',
  },
  'worker/status': {
    may: ['text', 'protocol', 'worker/plan'],
    pure: [],
    promise: 'the state of a device, and how people see it',
  },
  'worker/report': {
    may: ['protocol', 'worker/status'],
    pure: [],
    promise: 'builds reports for the manager',
  },
  'worker/machine': { may: ['worker/report'], promise: 'figures of the machine: memory, disk, processor' },
  'worker/metrics': {
    may: ['errors', 'protocol', 'worker/http', 'worker/status'],
    promise: 'metrics of the worker for Prometheus',
  },
  'worker/parts': {
    may: [
      'errors',
      'disk',
      'faults',
      'process',
      'worker/data-dir',
      'worker/engine',
      'worker/link',
      'worker/settings',
    ],
    promise: 'makes the parts of a worker by hand',
  },
  'worker/loop': {
    may: ['errors', 'async', 'disk', 'faults', 'process', 'protocol', 'version', 'worker'],
    promise: 'runs the worker: looks, plans, acts, reports',
  },
  'worker/command': {
    may: ['text', 'errors', 'process', 'settings', 'suggest', 'worker'],
    promise: 'the commands of holdfast worker',
  },
  'worker/main': {
    may: ['log', 'process', 'version', 'worker'],
    promise: 'the process of holdfast worker; loads nothing of the manager',
  },
  service: { may: ['*'], promise: 'builds every object by hand and passes it in' },
  serve: { may: ['*'], promise: 'the manager as a process: signals, log, exit code' },
  program: {
    may: ['process', 'version', 'cli', 'serve'],
    promise: 'the process: argv, output, exit code; loads the manager to serve it',
  },
  main: {
    may: ['program', 'worker/main'],
    promise: 'the entry point: checks the version of Node, then loads the program or the worker',
  },
};

/**
 * The folders (or files) inside a layer, and which of the same layer each may import, besides itself: only those above it
 * in the list, so no arrow runs back. dependency-cruiser.config.mjs enforces this table, too.
 */
export const rooms = {
  ids: {
    counter: { may: [], promise: 'the rule of the next id' },
    'content-hash': { may: [], promise: 'what counts as the same content' },
    'ids-reader': { may: [], promise: 'what ids need to know of the history; source implements it' },
    'record-ref': { may: [], promise: 'where the record is kept; source implements it' },
    'id-store': { may: [], promise: 'where counters are kept; store implements it' },
    record: {
      may: ['record-ref', 'id-store'],
      promise: 'the format of the record',
    },
    seeding: {
      may: ['counter', 'ids-reader', 'record-ref', 'id-store', 'record'],
      promise: 'what a start takes over',
    },
    keeper: {
      may: ['ids-reader', 'record-ref', 'id-store', 'record', 'seeding'],
      promise: 'seeds the store, and keeps the record up to date',
    },
  },
  'source/git': {
    process: { may: [], promise: 'runs git, and says what its failures mean' },
    'user-git': { may: ['process'], promise: 'runs git as the user, for commands' },
    repository: { may: ['process'], promise: 'finds a repository, or makes one' },
    refs: {
      may: ['process', 'repository'],
      promise: 'where refs are, and moves that survive a loss of power',
    },
    watch: {
      may: ['process', 'repository', 'refs'],
      promise: 'notices that a clone has moved, or was replaced',
    },
    read: { may: ['process', 'repository', 'refs'], promise: 'reads objects and the history' },
    origin: {
      may: ['process', 'refs'],
      promise: 'fetches from a repository by its address, and pushes to it',
    },
    write: {
      may: ['process', 'repository', 'origin'],
      promise: 'makes commits, and publishes them by a push',
    },
    record: {
      may: ['process', 'repository', 'refs', 'read', 'write'],
      promise: 'the record of ids, as commits of its own',
    },
    merge: { may: ['process', 'repository', 'read'], promise: 'what a merge would make' },
    clone: {
      may: ['process', 'repository', 'refs', 'watch', 'read', 'origin', 'write', 'record', 'merge'],
      promise: 'a clone on this machine, in which people work',
    },
    mirror: {
      may: ['process', 'repository', 'refs', 'read', 'origin', 'write', 'record', 'merge'],
      promise: 'a repository on another machine, by a mirror of it',
    },
  },
  store: {
    operation: { may: [], promise: 'a change of ids without a commit' },
    act: { may: ['operation'], promise: 'what was done to which objects' },
    entry: { may: ['operation', 'act'], promise: 'an entry of the history' },
    fleet: { may: [], promise: 'the state, and objects with their counters, as every store holds them' },
    'object-id': { may: [], promise: 'ids of objects that sort by age' },
    served: { may: [], promise: 'what devices are served, and when each part of it changed' },
    space: { may: [], promise: 'what is left free on the disk of a file' },
    schema: { may: ['entry'], promise: 'tables and collections, and their versions' },
    root: {
      may: ['entry', 'fleet', 'schema'],
      promise: 'the root document of a database that several managers share, and the commits that swap it',
    },
    history: {
      may: ['act', 'entry', 'space', 'root'],
      promise: 'acts and entries of the history, in a file and in a database',
    },
    reports: {
      may: ['object-id', 'space', 'schema'],
      promise: 'reports of devices, in a file and in a database',
    },
    objects: {
      may: ['operation', 'act', 'fleet', 'object-id', 'served', 'root', 'history'],
      promise: 'apps, device groups and their ids: what a write makes of them, in a file and in a database',
    },
    devices: {
      may: ['served', 'space', 'schema'],
      promise: 'what devices have said, in a file and in a database',
    },
    asks: { may: ['schema'], promise: 'what people ask devices, in memory and in a database' },
    incidents: { may: ['schema'], promise: 'incidents, in a file and in a database' },
    open: {
      may: [
        'object-id',
        'space',
        'schema',
        'root',
        'history',
        'reports',
        'objects',
        'devices',
        'asks',
        'incidents',
      ],
      promise: 'opens a store, and returns its ports',
    },
  },
  change: {
    'wait-limit': { may: [], promise: 'how long a request waits for a pass' },
    write: { may: [], promise: 'what a write asks for, and what writes depend on' },
    refusals: { may: ['write'], promise: 'why a write is refused' },
    preconditions: { may: ['write', 'refusals'], promise: 'If-Match' },
    draft: {
      may: ['write', 'refusals'],
      promise: 'the commit of a set of changes, with nothing read or written',
    },
    batch: {
      may: ['wait-limit', 'write', 'refusals', 'preconditions', 'draft'],
      promise: 'drafts the writes that arrive together, publishes and confirms them',
    },
    writer: { may: ['write', 'refusals', 'draft', 'batch'], promise: 'the queue of writes' },
    rollback: { may: ['write', 'refusals', 'batch'], promise: 'goes back, and previews that' },
  },
  reconcile: {
    status: { may: [], promise: 'what the manager says of itself, and of problems' },
    backoff: { may: ['status'], promise: 'when something that failed is tried again' },
    follower: { may: [], promise: 'reads the state of the store, and says what other managers have changed' },
    pass: { may: ['follower'], promise: 'one pass: reads, plans, applies' },
    events: { may: ['status', 'follower', 'pass'], promise: 'the names and data of events' },
    history: { may: ['pass'], promise: 'indexes the history, and reads it' },
    'origin-watch': { may: ['status', 'backoff'], promise: 'polls origin, and knows how that went' },
    schedule: { may: ['status', 'origin-watch'], promise: 'when the next pass runs' },
    summary: { may: ['status', 'pass', 'origin-watch'], promise: 'the status after a pass' },
    reconciler: {
      may: ['status', 'backoff', 'pass', 'events', 'origin-watch', 'schedule', 'summary'],
      promise: 'runs the passes, one at a time',
    },
    'branch-plan': { may: ['reconciler'], promise: 'what a branch of origin would change' },
  },
  http: {
    json: { may: [], promise: 'how JSON is sent' },
    csv: { may: [], promise: 'lists in lines' },
    conditions: { may: [], promise: 'If-Match and If-None-Match' },
    revision: { may: [], promise: 'the header with the revision' },
    records: { may: [], promise: 'objects as clients see them' },
    'request-refused': { may: [], promise: 'the error of a request that breaks a rule of HTTP' },
    'refusal-log': { may: [], promise: 'counts refused requests instead of logging each' },
    'route-record': { may: [], promise: 'what each route says of itself' },
    errors: { may: ['json', 'request-refused', 'refusal-log'], promise: 'turns errors into replies' },
    access: { may: ['request-refused', 'route-record'], promise: 'who may do what' },
    protocol: {
      may: ['json', 'request-refused'],
      promise: 'connections, methods, broken requests, shutdown',
    },
    effects: { may: [], promise: 'how many devices do something' },
    'history-records': { may: ['effects'], promise: 'the history as clients see it' },
    info: { may: ['records'], promise: 'the replies to polls, kept in memory' },
    api: { may: ['info'], promise: 'what the routes depend on' },
    request: {
      may: ['conditions', 'request-refused', 'route-record', 'api'],
      promise: 'reads and checks requests: body, query, headers',
    },
    openapi: { may: ['json', 'conditions', 'route-record', 'request'], promise: 'describes the routes' },
    'dry-run': { may: ['effects', 'api', 'request'], promise: 'previews' },
    'one-object': {
      may: ['conditions', 'revision', 'records', 'api', 'request', 'dry-run'],
      promise: 'what the routes about one object share',
    },
    routes: {
      may: [
        'json',
        'csv',
        'conditions',
        'revision',
        'records',
        'history-records',
        'request-refused',
        'route-record',
        'errors',
        'access',
        'protocol',
        'info',
        'api',
        'request',
        'openapi',
        'effects',
        'dry-run',
        'one-object',
      ],
      promise: 'the endpoints, a file for each or for a few that belong together',
    },
    'request-log': { may: ['refusal-log', 'route-record'], promise: 'a line in the log for each request' },
    server: {
      may: [
        'json',
        'revision',
        'route-record',
        'errors',
        'access',
        'protocol',
        'api',
        'request',
        'openapi',
        'routes',
        'request-log',
      ],
      promise: 'puts the parts together',
    },
  },
  cli: {
    shell: { may: [], promise: 'what every command takes and prints: arguments, help, completion, reports' },
    manager: { may: ['shell'], promise: 'which manager to ask, and its replies' },
    check: { may: ['shell', 'manager'], promise: 'validate and plan; the files of a folder' },
    past: { may: ['shell', 'check', 'manager'], promise: 'history, show and rollback' },
    import: { may: ['shell', 'check', 'manager'], promise: 'import from a manager or from Compose' },
    fleet: { may: ['shell', 'manager'], promise: 'how the fleet is; restarts and prunes' },
    run: { may: ['shell', 'check', 'past', 'import', 'fleet'], promise: 'runs one command line' },
  },
};
