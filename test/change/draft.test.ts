import { describe, expect, it } from 'vitest';
import { drafting } from '../../src/change/draft.ts';
import { filesOf, type WriteView } from '../../src/change/view.ts';
import type { Write } from '../../src/change/write.ts';
import { runToEnd } from '../../src/desired/run-to-end.ts';
import { HoldfastError } from '../../src/errors.ts';
import type { FileEdit } from '../../src/source/source.ts';
import { appliedOf, DEFAULTS, type Files, placeOf, stateOf } from '../support/fleet.ts';

const CONTEXT = { user: 'pat', email: 'pat@example.com', requestId: 'r-1', ifMatch: null };
const RULES = { strict: false, at: 1_700_000_000_000 };

/** The fleet after `applied` was brought into the store, with these files at head. */
function viewOf(files: Files, applied: Files = files): WriteView {
  const texts = Object.entries(files).flatMap(([path, text]) =>
    text === null ? [] : [[path, text] as const],
  );
  return {
    desired: stateOf(files),
    applied: appliedOf(applied),
    faulty: [],
    defaults: DEFAULTS,
    texts: new Map(texts),
  };
}

function draft(write: Write, view: WriteView, rules = RULES, context = CONTEXT) {
  return runToEnd(drafting(write, context, view, rules));
}

function refusal(write: Write, view: WriteView, rules = RULES): HoldfastError {
  try {
    draft(write, view, rules);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const WEB = 'container_image: nginx:1.26\n';
const SOUND: Files = {
  'apps/web.yaml': WEB,
  'apps/cron.yaml': 'container_image: cron:3\n',
  'device-groups/edge.yaml': 'apps: [web, cron]\n',
};
const DANGLING: Files = { ...SOUND, 'device-groups/edge.yaml': 'apps: [web, cron, ghost]\n' };
const TWINS: Files = { ...SOUND, 'device-groups/x/edge.yaml': 'apps: [web]\n' };

function createApp(name: string): Write {
  return { kind: 'app', op: 'create', name, fields: { container_image: 'n:1' } };
}

const setImage: Write = { kind: 'app', op: 'change', name: 'web', fields: { container_image: 'nginx:2' } };

describe('what is wrong elsewhere', () => {
  it.each([
    ['a group of the app that names a missing app', DANGLING],
    ['a group of the app that two files claim', TWINS],
  ])('does not keep a write back: %s', (_, files) => {
    const drafted = draft(setImage, viewOf(files, SOUND));
    expect(drafted?.commit.edits).toEqual([{ path: 'apps/web.yaml', text: 'container_image: nginx:2\n' }]);
  });

  it.each([
    ['a missing app', DANGLING],
    ['a name that two files claim', TWINS],
  ])('does where STRICT would refuse the commit whole: %s', (_, files) => {
    const error = refusal(setImage, viewOf(files, SOUND), { ...RULES, strict: true });
    expect(error.kind).toBe('conflict');
  });
});

describe('where STRICT refuses the head for several files', () => {
  const TWO_BAD: Files = { ...SOUND, 'apps/web.yaml': '[', 'apps/cron.yaml': '[' };
  const STRICT = { ...RULES, strict: true };

  it.each<[string, Write]>([
    ['a full update', { kind: 'app', op: 'replace', name: 'web', fields: { container_image: 'n:2' } }],
    ['a delete', { kind: 'device_group', op: 'delete', name: 'edge' }],
  ])('%s that leaves fewer problems is drafted', (_name, write) => {
    const files = { ...TWO_BAD, 'device-groups/edge.yaml': '[' };
    expect(draft(write, viewOf(files, SOUND), STRICT)?.commit.edits).toHaveLength(1);
  });

  it.each<[string, Write]>([
    ['a full update', { kind: 'app', op: 'replace', name: 'new', fields: { container_image: 'n:2' } }],
    ['a delete', { kind: 'app', op: 'delete', name: 'new' }],
    ['a change', { kind: 'app', op: 'change', name: 'new', fields: { running: false } }],
  ])('%s that leaves as many is refused', (_name, write) => {
    const files = { ...TWO_BAD, 'apps/new.yaml': 'container_image: n:1\n' };
    const error = refusal(write, viewOf(files, SOUND), STRICT);
    expect(error.message).toMatch(/^apps\/cron\.yaml:1:\d+: .*[^)] \(and 1 more\)$/);
  });

  it.each<[string, Write, HoldfastError['kind'], RegExp]>([
    ['a create of an app that is applied', createApp('web'), 'present', /"web"/],
    [
      'a create of an app whose valid file is not applied',
      createApp('new'),
      'conflict',
      /^apps\/cron\.yaml:1:/,
    ],
    ['a create of an app whose file is invalid', createApp('odd'), 'conflict', /^apps\/odd\.yaml:1:/],
    [
      'a create of a group whose valid file is not applied',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: [] } },
      'conflict',
      /^apps\/cron\.yaml:1:/,
    ],
    [
      'a create of a group of an unknown app',
      { kind: 'device_group', op: 'create', name: 'more', fields: { apps: ['ghost'] } },
      'absent',
      /"ghost"/,
    ],
    [
      'an update to an unknown app of a group whose valid file is not applied',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: ['ghost'] } },
      'absent',
      /"ghost"/,
    ],
  ])('%s is refused for what comes first', (_name, write, kind, message) => {
    const files = {
      ...SOUND,
      'apps/cron.yaml': '[',
      'apps/new.yaml': WEB,
      'apps/odd.yaml': '[',
      'device-groups/lab.yaml': 'apps: [web]\n',
    };
    const error = refusal(write, viewOf(files, SOUND), STRICT);
    expect([error.kind, error.message]).toEqual([kind, expect.stringMatching(message)]);
  });

  it('names the problems of files and those between objects in one order', () => {
    const files = { ...DANGLING, 'device-groups/lab.yaml': '[' };
    const { details } = refusal(setImage, viewOf(files, SOUND), STRICT);
    const problems = details['problems'] as { file: string }[];
    expect(problems.map(({ file }) => file)).toEqual(['device-groups/edge.yaml', 'device-groups/lab.yaml']);
  });

  it('a delete of an app leaves the file of a group alone that lists it no more, though devices are told so', () => {
    const write: Write = { kind: 'app', op: 'delete', name: 'cron' };
    const files = { ...SOUND, 'apps/cron.yaml': '[', 'device-groups/edge.yaml': '# Ask Pat\napps: [web]\n' };
    const view = viewOf(files, SOUND);
    const read = new Set(filesOf(write, view.desired));
    const texts = new Map([...view.texts].filter(([path]) => read.has(path)));
    expect(draft(write, { ...view, texts }, STRICT)?.commit.edits).toEqual([
      { path: 'apps/cron.yaml', text: null },
    ]);
  });
});

it('a refusal tells the place of its problem, and of no more than there are', () => {
  const error = refusal(
    { kind: 'app', op: 'change', name: 'web', fields: { running: false } },
    viewOf({ ...SOUND, 'apps/web.yaml': 'container_image: n:1\nrunnin: true\n' }, SOUND),
  );
  expect(error.message).toMatch(/^apps\/web\.yaml:2:1: runnin is not a known field/);
  expect(error.message).not.toContain('more)');
});

describe('a write that its own files, or those of groups, do not allow', () => {
  const image = { container_image: 'n:1' };
  const invalid = (path: string): Files => ({ ...SOUND, [path]: '[' });
  const gone = (path: string): Files => ({ ...SOUND, [path]: null });
  const waiting = {
    ...invalid('apps/bad.yaml'),
    'device-groups/lab.yaml': 'apps: [bad]\n',
  };
  const noGroup = /^there is a device group "edge" already$/;

  it.each<[string, Write, Files, HoldfastError['kind'], RegExp]>([
    [
      'a create beside an invalid file',
      { kind: 'app', op: 'create', name: 'new', fields: image },
      invalid('apps/new.yaml'),
      'conflict',
      /^apps\/new\.yaml:1:/,
    ],
    [
      'a create of what devices run',
      { kind: 'app', op: 'create', name: 'cron', fields: image },
      gone('apps/cron.yaml'),
      'present',
      /"cron"/,
    ],
    [
      'a change of an invalid file',
      { ...setImage },
      invalid('apps/web.yaml'),
      'conflict',
      /^apps\/web\.yaml:1:/,
    ],
    [
      'a change of a file that is gone',
      { ...setImage },
      gone('apps/web.yaml'),
      'conflict',
      /^the file of app "web" is gone, but a device group/,
    ],
    [
      'a delete whose group is invalid',
      { kind: 'app', op: 'delete', name: 'cron' },
      invalid('device-groups/edge.yaml'),
      'conflict',
      /^device-groups\/edge\.yaml:1:2: a closing quote/,
    ],
    ['a delete of what is not there', { kind: 'app', op: 'delete', name: 'new' }, SOUND, 'absent', /"new"/],
    [
      'a create of a group that is there',
      { kind: 'device_group', op: 'create', name: 'edge', fields: { apps: [] } },
      SOUND,
      'present',
      noGroup,
    ],
    [
      'a create of a group that devices have',
      { kind: 'device_group', op: 'create', name: 'edge', fields: { apps: [] } },
      gone('device-groups/edge.yaml'),
      'present',
      noGroup,
    ],
    [
      'a create of a group beside an invalid file',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: [] } },
      invalid('device-groups/lab.yaml'),
      'conflict',
      /^device-groups\/lab\.yaml:1:/,
    ],
    [
      'a create of a group that waits for an app',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: [] } },
      waiting,
      'conflict',
      /^device-groups\/lab\.yaml:1:8: app "bad" was never valid/,
    ],
    [
      'a group of an unknown app',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: ['web', 'new'] } },
      SOUND,
      'absent',
      /^there is no app "new"$/,
    ],
    [
      'an update to the list that waits for an app',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: ['bad'] } },
      waiting,
      'conflict',
      /^device-groups\/lab\.yaml:1:8: app "bad" was never valid/,
    ],
    [
      'an update to an unknown app',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['new'] } },
      SOUND,
      'absent',
      /^there is no app "new"$/,
    ],
    [
      'an update of an unknown group',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: [] } },
      SOUND,
      'absent',
      /"lab"/,
    ],
  ])('%s', (_name, write, files, kind, message) => {
    const error = refusal(write, viewOf(files, SOUND));
    expect([error.kind, error.message]).toEqual([kind, expect.stringMatching(message)]);
  });

  it.each<[string, Write, Files, FileEdit[] | undefined]>([
    [
      'a full update of a file that is gone writes it anew',
      { kind: 'app', op: 'replace', name: 'web', fields: image },
      gone('apps/web.yaml'),
      [{ path: 'apps/web.yaml', text: 'container_image: n:1\n' }],
    ],
    [
      'so does one of a group',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web'] } },
      gone('device-groups/edge.yaml'),
      [{ path: 'device-groups/edge.yaml', text: 'apps:\n  - web\n' }],
    ],
    [
      'one of a group that two files claim leaves one of them',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web', 'cron'] } },
      TWINS,
      [{ path: 'device-groups/x/edge.yaml', text: null }],
    ],
    [
      'one of a group that waits for an app takes that off',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: ['web'] } },
      waiting,
      [{ path: 'device-groups/lab.yaml', text: 'apps: [web]\n' }],
    ],
    [
      'one to what file and devices have edits nothing, whatever is wrong with it',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web', 'cron'] } },
      gone('apps/cron.yaml'),
      undefined,
    ],
    [
      'a delete takes an app that was never valid off a group that waits for it',
      { kind: 'app', op: 'delete', name: 'bad' },
      waiting,
      [
        { path: 'apps/bad.yaml', text: null },
        { path: 'device-groups/lab.yaml', text: 'apps: []\n' },
      ],
    ],
    [
      'a delete needs no file of a group that goes, too',
      { kind: 'app', op: 'delete', name: 'cron' },
      gone('device-groups/edge.yaml'),
      [{ path: 'apps/cron.yaml', text: null }],
    ],
  ])('is none: %s', (_name, write, files, edits) => {
    expect(draft(write, viewOf(files, SOUND))?.commit.edits).toEqual(edits);
  });

  it('with STRICT: an update to the list of a file that was never applied', () => {
    const files = { ...invalid('apps/cron.yaml'), 'device-groups/edge.yaml': 'apps: [web]\n' };
    const write: Write = { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web'] } };
    const error = refusal(write, viewOf(files, SOUND), { ...RULES, strict: true });
    expect([error.kind, error.message]).toEqual(['conflict', expect.stringMatching(/^apps\/cron\.yaml:1:/)]);
  });
});

describe('what the write could not reach', () => {
  it('is refused: an app that a group’s last good content holds back', () => {
    const write: Write = { kind: 'app', op: 'delete', name: 'cron' };
    const error = refusal(write, viewOf(DANGLING, SOUND));
    expect(error.kind).toBe('conflict');
    const problems = error.details['problems'] as Parameters<typeof placeOf>[0][];
    expect(problems.map(placeOf)).toContain('device-groups/edge.yaml:1:1 app-retained');
  });

  it('is refused: a file that would be too large to be read again', () => {
    const env_vars = Object.fromEntries(
      Array.from({ length: 5 }, (_, index) => [`V${index}`, 'x'.repeat(60_000)]),
    );
    const write: Write = { kind: 'app', op: 'change', name: 'web', fields: { env_vars } };
    expect(refusal(write, viewOf(SOUND)).kind).toBe('invalid');
  });
});

describe('a full update of a file that cannot be read', () => {
  it.each([
    [
      'keeps the comments around what cannot be read',
      '# Ask Pat\n\n# schema\na: *b # c\n# d\n',
      '# Ask Pat\n\n# schema\n# d\n',
    ],
    ['keeps the comments above a list', '# Ask Pat\n- a\n', '# Ask Pat\n'],
    ['keeps a comment with a line separator in it', '# Ask\u2028Pat\n- a\n', '# Ask\u2028Pat\n'],
    ['keeps its line ends and its byte order mark', '\ufeff# Ask Pat\r\na: [\r\n', '\ufeff# Ask Pat\r\n'],
    ['takes no comment for one in a text without any', 'a: |\n # b\n\tc: d\n', ''],
  ])('%s', (_name, text, header) => {
    const write: Write = { kind: 'app', op: 'replace', name: 'web', fields: { container_image: 'n:2' } };
    const drafted = draft(write, viewOf({ ...SOUND, 'apps/web.yaml': text }, SOUND));
    const eol = header.includes('\r') ? '\r\n' : '\n';
    expect(drafted?.commit.edits).toEqual([
      { path: 'apps/web.yaml', text: `${header}container_image: n:2${eol}` },
    ]);
  });
});

it('a full update of a file that cannot be read keeps what can be, with its comments', () => {
  const fields = { container_image: 'n:2', networks: ['a'], running: false };
  const text = `# Ask Pat
container_image: n:1 # pinned
env_vars:
  <<: *all
# why stopped
running: false # until May

networks: # of the shop
  - a # the till
  - b
`;
  const drafted = draft(
    { kind: 'app', op: 'replace', name: 'web', fields },
    viewOf({ ...SOUND, 'apps/web.yaml': text }, SOUND),
  );
  expect(drafted?.commit.edits[0]?.text).toBe(`# Ask Pat
container_image: n:2 # pinned
# why stopped
running: false # until May

networks: # of the shop
  - a # the till
`);
});

describe('the commit', () => {
  it('tells in its body what a delete does to groups', () => {
    const drafted = draft({ kind: 'app', op: 'delete', name: 'cron' }, viewOf(SOUND));
    expect(drafted?.commit.message).toBe(
      [
        'app cron: delete',
        '',
        'device group edge: remove cron',
        '',
        'Request-Id: r-1',
        'Api-User: pat',
        '',
      ].join('\n'),
    );
    expect(drafted?.commit.author).toEqual({ name: 'pat', email: 'pat@example.com' });
    expect(drafted?.commit.at).toBe(RULES.at);
  });

  it('is named after the object of the write, whatever else has its name', () => {
    const named = { ...SOUND, 'device-groups/cron.yaml': 'apps: [cron]\n' };
    const drafted = draft({ kind: 'app', op: 'delete', name: 'cron' }, viewOf(named));
    const [subject, , ...others] = drafted?.commit.message.split('\n') ?? [];
    expect(subject).toBe('app cron: delete');
    expect(others.slice(0, 2).sort()).toEqual([
      'device group cron: remove cron',
      'device group edge: remove cron',
    ]);
  });

  it('says that it empties the folder on purpose, when the last object goes', () => {
    const drafted = draft({ kind: 'app', op: 'delete', name: 'web' }, viewOf({ 'apps/web.yaml': WEB }));
    expect(drafted?.commit.message.trimEnd().split('\n').at(-1)).toBe('Allow-Empty: true');
  });

  it('has one line a trailer, whatever the name of the user holds', () => {
    const user = 'pat\nAllow-Empty: true\r\u0085x';
    const message = draft(setImage, viewOf(SOUND), RULES, { ...CONTEXT, user })?.commit.message ?? '';
    expect(message.split('\n').filter((line) => /^[\w-]+: /.test(line))).toEqual([
      'Request-Id: r-1',
      'Api-User: pat Allow-Empty: true x',
    ]);
  });

  it('names a mended file where devices see no difference', () => {
    const files = { ...SOUND, 'apps/web.yaml': 'container_image: nginx:1.26\nrunnin: true\n' };
    const write: Write = {
      kind: 'app',
      op: 'replace',
      name: 'web',
      fields: { container_image: 'nginx:1.26' },
    };
    const drafted = draft(write, viewOf(files, SOUND));
    expect(drafted?.commit.message.split('\n')[0]).toBe('app web: fix the file');
    expect(drafted?.commit.edits).toEqual([{ path: 'apps/web.yaml', text: WEB }]);
  });

  it.each(['odd', 'o'.repeat(128)])('names the delete of a file that never was valid: %s', (name) => {
    const files = { ...SOUND, [`apps/${name}.yaml`]: '[\n' };
    const drafted = draft({ kind: 'app', op: 'delete', name }, viewOf(files, SOUND));
    const [subject = ''] = drafted?.commit.message.split('\n') ?? [];
    expect(subject).toMatch(/^app o[^:]*: delete$/);
    expect(subject.length).toBeLessThanOrEqual(72);
  });

  it('is none where the files say it already, and the state is as it was', () => {
    const view = viewOf(SOUND);
    const write: Write = { kind: 'app', op: 'change', name: 'web', fields: { running: true } };
    expect(draft(write, view)).toBeNull();
    draft(setImage, view);
    expect(view.desired.app('web')?.content?.container_image).toBe('nginx:1.26');
  });
});

describe('the delete of an app that many groups list', () => {
  const GROUPS = 200;
  const apps = `apps:\n  - web\n${Array.from({ length: 30 }, (_, index) => `  - app-${index}\n`).join('')}`;
  const files: Files = {
    'apps/web.yaml': WEB,
    ...Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`apps/app-${index}.yaml`, WEB])),
    ...Object.fromEntries(
      Array.from({ length: GROUPS }, (_, index) => [`device-groups/g-${index}.yaml`, apps]),
    ),
  };
  const write: Write = { kind: 'app', op: 'delete', name: 'web' };

  it('is drafted in pieces, of which none reads or plans more than one group', () => {
    const seen = viewOf(files);
    let looks = 0;
    const counted = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (_, method) => {
          const found = Reflect.get(target, method, target);
          if (typeof found !== 'function') return found;
          if (['get', 'group', 'trial', 'content'].includes(String(method))) looks += 1;
          return found.bind(target);
        },
      });
    const view = {
      ...seen,
      applied: counted(seen.applied),
      texts: counted(seen.texts as Map<string, string>),
    };
    const perPiece: number[] = [];
    for (const _ of drafting(write, CONTEXT, view, RULES)) {
      perPiece.push(looks);
      looks = 0;
    }
    expect(Math.max(...perPiece)).toBeLessThanOrEqual(2);
    expect(perPiece.length).toBeGreaterThan(4 * GROUPS);
  });
});
