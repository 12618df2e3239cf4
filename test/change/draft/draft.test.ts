import { describe, expect, it } from 'vitest';
import { Pace } from '../../../src/async/pace.ts';
import { draftSet as draftOf } from '../../../src/change/draft/draft.ts';
import { filesOf, type WriteView } from '../../../src/change/draft/view.ts';
import { ChangesRefused } from '../../../src/change/refusals.ts';
import { type ChangeSet, setOf, type Write, type WriteContext } from '../../../src/change/write.ts';
import { HoldfastError } from '../../../src/errors.ts';
import type { FileEdit } from '../../../src/source/source.ts';
import { appliedOf, DEFAULTS, type Files, stateOf, withoutMessage } from '../../support/fleet.ts';

const CONTEXT = { user: 'pat', email: 'pat@example.com', requestId: 'r-1', ifMatch: null };
const RULES = { strict: false, at: 1_700_000_000_000 };

/** The view of a fleet whose head has `files`, and whose applied state comes from `applied`. */
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

function draftSet(set: ChangeSet, view: WriteView, rules = RULES, context: WriteContext = CONTEXT) {
  return draftOf(set, context, view, rules, new Pace());
}

function draft(write: Write, view: WriteView, rules = RULES, context: WriteContext = CONTEXT) {
  return draftSet(setOf(write), view, rules, context);
}

/** The error of a draft; if only one change is refused, that of the change. */
async function refusal(
  change: Write | ChangeSet,
  view: WriteView,
  rules = RULES,
): Promise<HoldfastError<'conflict'>> {
  try {
    await draftSet('changes' in change ? change : setOf(change), view, rules);
  } catch (error) {
    if (error instanceof ChangesRefused && error.errors.size === 1)
      return [...error.errors.values()][0] as HoldfastError<'conflict'>;
    if (error instanceof HoldfastError) return error as HoldfastError<'conflict'>;
    throw error;
  }
  throw new Error('nothing was refused');
}

const WEB = 'container_image: nginx:1.26\n';
const VALID: Files = {
  'apps/web.yaml': WEB,
  'apps/cron.yaml': 'container_image: cron:3\n',
  'device-groups/edge.yaml': 'apps: [web, cron]\n',
};
const DANGLING: Files = { ...VALID, 'device-groups/edge.yaml': 'apps: [web, cron, ghost]\n' };
const DUPLICATE: Files = { ...VALID, 'device-groups/x/edge.yaml': 'apps: [web]\n' };

function createApp(name: string): Write {
  return { kind: 'app', op: 'create', name, fields: { container_image: 'n:1' } };
}

const setImage: Write = { kind: 'app', op: 'change', name: 'web', fields: { container_image: 'nginx:2' } };

describe('a change of an app while a group has problems', () => {
  it.each([
    ['lists a missing app', DANGLING],
    ['is defined by two files', DUPLICATE],
  ])('is drafted although a group that lists the app %s', async (_, files) => {
    const drafted = await draft(setImage, viewOf(files, VALID));
    expect(drafted?.commit.edits).toEqual([{ path: 'apps/web.yaml', text: 'container_image: nginx:2\n' }]);
  });

  it.each([
    ['lists a missing app', DANGLING],
    ['is defined by two files', DUPLICATE],
  ])('is a conflict with STRICT, because a group %s', async (_, files) => {
    const error = await refusal(setImage, viewOf(files, VALID), { ...RULES, strict: true });
    expect(error.kind).toBe('conflict');
  });

  it('is drafted with STRICT if there are only warnings', async () => {
    const files = { ...VALID, 'notes.txt': 'not read' };
    expect(await draft(setImage, viewOf(files, VALID), { ...RULES, strict: true })).not.toBeNull();
  });
});

describe('drafting with STRICT on a head that is refused', () => {
  const TWO_BAD: Files = { ...VALID, 'apps/web.yaml': '[', 'apps/cron.yaml': '[' };
  const STRICT = { ...RULES, strict: true };

  it.each<[string, Write]>([
    ['a full update', { kind: 'app', op: 'replace', name: 'web', fields: { container_image: 'n:2' } }],
    ['a delete', { kind: 'device_group', op: 'delete', name: 'edge' }],
  ])('accepts %s that leaves fewer problems', async (_name, write) => {
    const files = { ...TWO_BAD, 'device-groups/edge.yaml': '[' };
    expect((await draft(write, viewOf(files, VALID), STRICT))?.commit.edits).toHaveLength(1);
  });

  it.each<[string, Write]>([
    ['a full update', { kind: 'app', op: 'replace', name: 'new', fields: { container_image: 'n:2' } }],
    ['a delete', { kind: 'app', op: 'delete', name: 'new' }],
    ['a change', { kind: 'app', op: 'change', name: 'new', fields: { running: false } }],
  ])('refuses %s that leaves as many problems', async (_name, write) => {
    const files = { ...TWO_BAD, 'apps/new.yaml': 'container_image: n:1\n' };
    const error = await refusal(write, viewOf(files, VALID), STRICT);
    expect(error.message).toMatch(/^apps\/cron\.yaml:1:\d+: .*[^)] \(and 1 more\)$/);
  });

  it.each<[string, Write, HoldfastError['kind'], RegExp]>([
    ['the create of an app that is applied, because it exists', createApp('web'), 'present', /"web"/],
    [
      'the create of an app whose valid file is not applied, because of another file',
      createApp('new'),
      'conflict',
      /^apps\/cron\.yaml:1:/,
    ],
    [
      'the create of an app whose file is invalid, because of that file',
      createApp('odd'),
      'conflict',
      /^apps\/odd\.yaml:1:/,
    ],
    [
      'the create of a group whose valid file is not applied, because of another file',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: [] } },
      'conflict',
      /^apps\/cron\.yaml:1:/,
    ],
    [
      'the create of a group that lists an unknown app, because of that app',
      { kind: 'device_group', op: 'create', name: 'more', fields: { apps: ['ghost'] } },
      'absent',
      /"ghost"/,
    ],
    [
      'an update of a group that adds an unknown app, because of that app',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: ['ghost'] } },
      'absent',
      /"ghost"/,
    ],
  ])('refuses %s', async (_name, write, kind, message) => {
    const files = {
      ...VALID,
      'apps/cron.yaml': '[',
      'apps/new.yaml': WEB,
      'apps/odd.yaml': '[',
      'device-groups/lab.yaml': 'apps: [web]\n',
    };
    const error = await refusal(write, viewOf(files, VALID), STRICT);
    expect([error.kind, error.message]).toEqual([kind, expect.stringMatching(message)]);
  });

  it('sorts problems of single files and problems between objects together by path', async () => {
    const files = { ...DANGLING, 'device-groups/lab.yaml': '[' };
    const { details } = await refusal(setImage, viewOf(files, VALID), STRICT);
    const problems = details.problems as { file: string }[];
    expect(problems.map(({ file }) => file)).toEqual(['device-groups/edge.yaml', 'device-groups/lab.yaml']);
  });

  it('deletes an app without an edit of a group whose file no longer lists it, although its applied list does', async () => {
    const write: Write = { kind: 'app', op: 'delete', name: 'cron' };
    const files = { ...VALID, 'apps/cron.yaml': '[', 'device-groups/edge.yaml': '# Ask Pat\napps: [web]\n' };
    const view = viewOf(files, VALID);
    const read = new Set(filesOf(setOf(write), view.desired));
    const texts = new Map([...view.texts].filter(([path]) => read.has(path)));
    expect((await draft(write, { ...view, texts }, STRICT))?.commit.edits).toEqual([
      { path: 'apps/cron.yaml', text: null },
    ]);
  });
});

describe('drafting', () => {
  const image = { container_image: 'n:1' };
  const invalid = (path: string): Files => ({ ...VALID, [path]: '[' });
  const gone = (path: string): Files => ({ ...VALID, [path]: null });
  const waiting = {
    ...invalid('apps/bad.yaml'),
    'device-groups/lab.yaml': 'apps: [bad]\n',
  };
  const groupExists = /^there is a device group "edge" already$/;

  it.each<[string, Write, Files, HoldfastError['kind'], RegExp]>([
    [
      'the create of an app whose file is invalid',
      { kind: 'app', op: 'create', name: 'new', fields: image },
      invalid('apps/new.yaml'),
      'conflict',
      /^apps\/new\.yaml:1:/,
    ],
    [
      'the create of an app whose file is gone, but which is still applied',
      { kind: 'app', op: 'create', name: 'cron', fields: image },
      gone('apps/cron.yaml'),
      'present',
      /"cron"/,
    ],
    [
      'a change of an app whose file is invalid',
      setImage,
      invalid('apps/web.yaml'),
      'conflict',
      /^apps\/web\.yaml:1:/,
    ],
    [
      'a change of an app whose file is gone',
      setImage,
      gone('apps/web.yaml'),
      'conflict',
      /^the file of app "web" is gone, but a device group/,
    ],
    [
      'the delete of an app that an invalid group lists',
      { kind: 'app', op: 'delete', name: 'cron' },
      invalid('device-groups/edge.yaml'),
      'conflict',
      /^device-groups\/edge\.yaml:1:2: a closing quote/,
    ],
    [
      'the delete of an app whose file is gone, but which a group’s last good list retains',
      { kind: 'app', op: 'delete', name: 'cron' },
      { ...gone('apps/cron.yaml'), 'device-groups/edge.yaml': 'apps: [web, ghost]\n' },
      'conflict',
      /^device-groups\/edge\.yaml:1:1: app "cron" was removed, but the last good state of this group/,
    ],
    [
      'the delete of such an app from the file of another group',
      { kind: 'app', op: 'delete', name: 'cron' },
      {
        ...gone('apps/cron.yaml'),
        'device-groups/edge.yaml': 'apps: [web, ghost]\n',
        'device-groups/lab.yaml': 'apps: [cron]\n',
      },
      'conflict',
      /^device-groups\/edge\.yaml:1:1: app "cron" was removed, but the last good state of this group/,
    ],
    ['the delete of an unknown app', { kind: 'app', op: 'delete', name: 'new' }, VALID, 'absent', /"new"/],
    [
      'the create of an existing group',
      { kind: 'device_group', op: 'create', name: 'edge', fields: { apps: [] } },
      VALID,
      'present',
      groupExists,
    ],
    [
      'the create of a group whose file is gone, but which is still applied',
      { kind: 'device_group', op: 'create', name: 'edge', fields: { apps: [] } },
      gone('device-groups/edge.yaml'),
      'present',
      groupExists,
    ],
    [
      'the create of a group whose file is invalid',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: [] } },
      invalid('device-groups/lab.yaml'),
      'conflict',
      /^device-groups\/lab\.yaml:1:/,
    ],
    [
      'the create of a group whose file waits for an app to become valid',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: [] } },
      waiting,
      'conflict',
      /^device-groups\/lab\.yaml:1:8: app "bad" was never valid/,
    ],
    [
      'the create of a group that lists an unknown app',
      { kind: 'device_group', op: 'create', name: 'lab', fields: { apps: ['web', 'new'] } },
      VALID,
      'absent',
      /^there is no app "new"$/,
    ],
    [
      'an update of a group to a list with an app that was never valid',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: ['bad'] } },
      waiting,
      'conflict',
      /^device-groups\/lab\.yaml:1:8: app "bad" was never valid/,
    ],
    [
      'an update of a group that adds an unknown app',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['new'] } },
      VALID,
      'absent',
      /^there is no app "new"$/,
    ],
    [
      'an update of an unknown group',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: [] } },
      VALID,
      'absent',
      /"lab"/,
    ],
  ])('refuses %s', async (_name, write, files, kind, message) => {
    const error = await refusal(write, viewOf(files, VALID));
    expect([error.kind, error.message]).toEqual([kind, expect.stringMatching(message)]);
  });

  it.each<[string, Write, Files, FileEdit[] | undefined]>([
    [
      'writes the missing file of an app again at a full update',
      { kind: 'app', op: 'replace', name: 'web', fields: image },
      gone('apps/web.yaml'),
      [{ path: 'apps/web.yaml', text: 'container_image: n:1\n' }],
    ],
    [
      'writes the missing file of a group again at a full update',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web'] } },
      gone('device-groups/edge.yaml'),
      [{ path: 'device-groups/edge.yaml', text: 'apps:\n  - web\n' }],
    ],
    [
      'keeps one of the two files that define an app at its full update',
      { kind: 'app', op: 'replace', name: 'cron', fields: { container_image: 'cron:3' } },
      { ...VALID, 'apps/x/cron.yaml': 'container_image: cron:4\n' },
      [{ path: 'apps/x/cron.yaml', text: null }],
    ],
    [
      'keeps one of the two files that define a group at its full update',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web', 'cron'] } },
      DUPLICATE,
      [{ path: 'device-groups/x/edge.yaml', text: null }],
    ],
    [
      'drops the app that a group waits for if a full update of the group leaves it out',
      { kind: 'device_group', op: 'replace', name: 'lab', fields: { apps: ['web'] } },
      waiting,
      [{ path: 'device-groups/lab.yaml', text: 'apps: [web]\n' }],
    ],
    [
      'edits nothing if file and applied state already have the content, although a listed app is missing',
      { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web', 'cron'] } },
      gone('apps/cron.yaml'),
      undefined,
    ],
    [
      'removes a deleted app that was never valid from the group that waits for it',
      { kind: 'app', op: 'delete', name: 'bad' },
      waiting,
      [
        { path: 'apps/bad.yaml', text: null },
        { path: 'device-groups/lab.yaml', text: 'apps: []\n' },
      ],
    ],
    [
      'deletes an app without an edit of a group whose file is already deleted',
      { kind: 'app', op: 'delete', name: 'cron' },
      gone('device-groups/edge.yaml'),
      [{ path: 'apps/cron.yaml', text: null }],
    ],
  ])('%s', async (_name, write, files, edits) => {
    expect((await draft(write, viewOf(files, VALID)))?.commit.edits).toEqual(edits);
  });

  it('refuses with STRICT an update to content that is in the file, but is not applied because of another file', async () => {
    const files = { ...invalid('apps/cron.yaml'), 'device-groups/edge.yaml': 'apps: [web]\n' };
    const write: Write = { kind: 'device_group', op: 'replace', name: 'edge', fields: { apps: ['web'] } };
    const error = await refusal(write, viewOf(files, VALID), { ...RULES, strict: true });
    expect([error.kind, error.message]).toEqual(['conflict', expect.stringMatching(/^apps\/cron\.yaml:1:/)]);
  });

  it('reports file, line and column of the only problem, without a number of further ones', async () => {
    const error = await refusal(
      { kind: 'app', op: 'change', name: 'web', fields: { running: false } },
      viewOf({ ...VALID, 'apps/web.yaml': 'container_image: n:1\nrunnin: true\n' }, VALID),
    );
    expect(error.message).toMatch(/^apps\/web\.yaml:2:1: runnin is not a known field/);
    expect(error.message).not.toContain('more)');
  });

  it('refuses to delete an app that a group’s last good list retains', async () => {
    const write: Write = { kind: 'app', op: 'delete', name: 'cron' };
    const error = await refusal(write, viewOf(DANGLING, VALID));
    expect(error.kind).toBe('conflict');
    const problems = error.details.problems as Parameters<typeof withoutMessage>[0][];
    expect(problems.map(withoutMessage)).toContain('device-groups/edge.yaml:1:1 app-retained');
  });

  it('refuses an edit that makes a file too large to be read again', async () => {
    const env_vars = Object.fromEntries(
      // Two bytes each.
      Array.from({ length: 5 }, (_, index) => [`V${index}`, 'é'.repeat(30_000)]),
    );
    const write: Write = { kind: 'app', op: 'change', name: 'web', fields: { env_vars } };
    expect((await refusal(write, viewOf(VALID))).kind).toBe('invalid');
  });
});

describe('a full update of a file that cannot be read', () => {
  it.each([
    [
      'keeps the comments before and after an invalid entry',
      '# Ask Pat\n\n# schema\na: *b # c\n# d\n',
      '# Ask Pat\n\n# schema\n# d\n',
    ],
    ['keeps the comments above a list that should be a mapping', '# Ask Pat\n- a\n', '# Ask Pat\n'],
    ['keeps the line ends above such a list', '# Ask Pat\r\n- a\r\n', '# Ask Pat\r\n'],
    ['keeps a comment that contains a Unicode line separator', '# Ask\u2028Pat\n- a\n', '# Ask\u2028Pat\n'],
    ['keeps the line ends and the byte order mark', '\ufeff# Ask Pat\r\na: [\r\n', '\ufeff# Ask Pat\r\n'],
    ['does not mistake a line of a block text that begins with # for a comment', 'a: |\n # b\n\tc: d\n', ''],
  ])('%s', async (_name, text, header) => {
    const write: Write = { kind: 'app', op: 'replace', name: 'web', fields: { container_image: 'n:2' } };
    const drafted = await draft(write, viewOf({ ...VALID, 'apps/web.yaml': text }, VALID));
    const eol = header.includes('\r') ? '\r\n' : '\n';
    expect(drafted?.commit.edits).toEqual([
      { path: 'apps/web.yaml', text: `${header}container_image: n:2${eol}` },
    ]);
  });

  it('keeps the valid entries with their comments', async () => {
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
    const drafted = await draft(
      { kind: 'app', op: 'replace', name: 'web', fields },
      viewOf({ ...VALID, 'apps/web.yaml': text }, VALID),
    );
    expect(drafted?.commit.edits[0]?.text).toBe(`# Ask Pat
container_image: n:2 # pinned
# why stopped
running: false # until May

networks: # of the shop
  - a # the till
`);
  });
});

describe('the commit', () => {
  it('lists in its body the groups that a delete changes, and has the author and time of the write', async () => {
    const drafted = await draft({ kind: 'app', op: 'delete', name: 'cron' }, viewOf(VALID));
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

  it('has a subject about the app of the write, even if one of the changed groups has the same name', async () => {
    const named = { ...VALID, 'device-groups/cron.yaml': 'apps: [cron]\n' };
    const drafted = await draft({ kind: 'app', op: 'delete', name: 'cron' }, viewOf(named));
    const [subject, , ...others] = drafted?.commit.message.split('\n') ?? [];
    expect(subject).toBe('app cron: delete');
    expect(others.slice(0, 2).sort()).toEqual([
      'device group cron: remove cron',
      'device group edge: remove cron',
    ]);
  });

  it('ends with the trailer Allow-Empty if it deletes the last object', async () => {
    const drafted = await draft({ kind: 'app', op: 'delete', name: 'web' }, viewOf({ 'apps/web.yaml': WEB }));
    expect(drafted?.commit.message.trimEnd().split('\n').at(-1)).toBe('Allow-Empty: true');
  });

  it('has each trailer on one line, even if what clients send contains control characters', async () => {
    const hostile = { user: 'pat\nAllow-Empty: true\r\u0085x', requestId: 'r-1\n\nx' };
    const message =
      (await draft(setImage, viewOf(VALID), RULES, { ...CONTEXT, ...hostile }))?.commit.message ?? '';
    expect(message.split('\n').filter((line) => /^[\w-]+: /.test(line))).toEqual([
      'Request-Id: r-1 x',
      'Api-User: pat Allow-Empty: true x',
    ]);
  });

  it('has the subject "fix the file" if the write repairs a file and devices see no difference', async () => {
    const files = { ...VALID, 'apps/web.yaml': 'container_image: nginx:1.26\nrunnin: true\n' };
    const write: Write = {
      kind: 'app',
      op: 'replace',
      name: 'web',
      fields: { container_image: 'nginx:1.26' },
    };
    const drafted = await draft(write, viewOf(files, VALID));
    expect(drafted?.commit.message.split('\n')[0]).toBe('app web: fix the file');
    expect(drafted?.commit.edits).toEqual([{ path: 'apps/web.yaml', text: WEB }]);
  });

  it.each([
    ['a short name', 'odd'],
    ['the longest name', 'o'.repeat(128)],
  ])(
    'has a subject of at most 72 characters for the delete of a file that was never valid: %s',
    async (_, name) => {
      const files = { ...VALID, [`apps/${name}.yaml`]: '[\n' };
      const drafted = await draft({ kind: 'app', op: 'delete', name }, viewOf(files, VALID));
      const [subject = ''] = drafted?.commit.message.split('\n') ?? [];
      expect(subject).toMatch(/^app o[^:]*: delete$/);
      expect(subject.length).toBeLessThanOrEqual(72);
    },
  );

  it('is not made if the files already have the content', async () => {
    const write: Write = { kind: 'app', op: 'change', name: 'web', fields: { running: true } };
    expect(await draft(write, viewOf(VALID))).toBeNull();
  });

  it('is drafted without a change of the view', async () => {
    const view = viewOf(VALID);
    await draft(setImage, view);
    expect(view.desired.app('web')?.content?.container_image).toBe('nginx:1.26');
  });
});

describe('the delete of an app that many groups list', () => {
  const GROUPS = 40;
  const apps = `apps:\n  - web\n${Array.from({ length: 5 }, (_, index) => `  - app-${index}\n`).join('')}`;
  const files: Files = {
    'apps/web.yaml': WEB,
    ...Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`apps/app-${index}.yaml`, WEB])),
    ...Object.fromEntries(
      Array.from({ length: GROUPS }, (_, index) => [`device-groups/g-${index}.yaml`, apps]),
    ),
  };
  const write: Write = { kind: 'app', op: 'delete', name: 'web' };

  it('is drafted in steps that read or plan at most one group each', async () => {
    const plain = viewOf(files);
    let lookups = 0;
    const counted = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (_, method) => {
          const found = Reflect.get(target, method, target);
          if (typeof found !== 'function') return found;
          if (['get', 'group', 'content'].includes(String(method))) lookups += 1;
          return found.bind(target);
        },
      });
    const view = {
      ...plain,
      applied: counted(plain.applied),
      texts: counted(plain.texts as Map<string, string>),
    };
    const lookupsPerStep: number[] = [];
    class CountingPace extends Pace {
      override async step() {
        lookupsPerStep.push(lookups);
        lookups = 0;
      }
    }
    await draftOf(setOf(write), CONTEXT, view, RULES, new CountingPace());
    expect(Math.max(...lookupsPerStep)).toBeLessThanOrEqual(2);
    expect(lookupsPerStep.length).toBeGreaterThan(4 * GROUPS);
  });
});

describe('a set of several changes', () => {
  const change = (name: string, tag: string): Write => ({
    kind: 'app',
    op: 'change',
    name,
    fields: { container_image: `${name}:${tag}` },
  });
  const set = (...changes: Write[]): ChangeSet => ({ changes, subject: null, trailers: [] });
  const group = (name: string, apps: string[]): Write => ({
    kind: 'device_group',
    op: 'create',
    name,
    fields: { apps },
  });
  const remove = (kind: Write['kind'], name: string): Write => ({ kind, op: 'delete', name });
  const webFile = (text: string | null, more: { path?: string; expected?: string | null } = {}): Write => ({
    kind: 'app',
    op: 'file',
    name: 'web',
    path: 'apps/web.yaml',
    text,
    ...more,
  });
  const headers = (message = ''): string[] => message.split('\n\n').slice(0, -1);

  it.each<[string, ChangeSet, FileEdit[], string[]]>([
    [
      'edits each file once, and has a line for each change below the subject',
      set(change('web', '2'), change('cron', '4')),
      [
        { path: 'apps/web.yaml', text: 'container_image: web:2\n' },
        { path: 'apps/cron.yaml', text: 'container_image: cron:4\n' },
      ],
      ['change 2 objects', 'app cron: container_image 3 -> 4\napp web: container_image nginx:1.26 -> web:2'],
    ],
    [
      'creates an app before a group that lists it, whatever their order',
      set(group('lab', ['new']), createApp('new')),
      [
        { path: 'apps/new.yaml', text: 'container_image: n:1\n' },
        { path: 'device-groups/lab.yaml', text: 'apps:\n  - new\n' },
      ],
      ['app new: create; device group lab: create', 'app new: create\ndevice group lab: create'],
    ],
    [
      'deletes an app together with the group that lists it',
      set(remove('app', 'cron'), remove('device_group', 'edge')),
      [
        { path: 'device-groups/edge.yaml', text: null },
        { path: 'apps/cron.yaml', text: null },
      ],
      ['device group edge: delete; app cron: delete', 'device group edge: delete\napp cron: delete'],
    ],
    [
      'takes two deleted apps out of the group that lists both',
      set(remove('app', 'cron'), remove('app', 'web')),
      [
        { path: 'apps/cron.yaml', text: null },
        { path: 'device-groups/edge.yaml', text: 'apps: []\n' },
        { path: 'apps/web.yaml', text: null },
      ],
      [
        'app cron: delete; app web: delete',
        'app cron: delete\napp web: delete\ndevice group edge: remove web, cron',
      ],
    ],
    [
      'leaves out what the files have already',
      set({ kind: 'app', op: 'change', name: 'web', fields: { running: true } }, change('cron', '4')),
      [{ path: 'apps/cron.yaml', text: 'container_image: cron:4\n' }],
      ['app cron: container_image 3 -> 4'],
    ],
    [
      'gives a path its text, byte for byte',
      set(webFile('# old\ncontainer_image: "nginx:1"\n')),
      [{ path: 'apps/web.yaml', text: '# old\ncontainer_image: "nginx:1"\n' }],
      ['app web: container_image 1.26 -> 1'],
    ],
    [
      'makes a file at the path of a new object',
      set({ kind: 'app', op: 'file', name: 'db', path: 'apps/x/db.yaml', text: 'container_image: db:1\n' }),
      [{ path: 'apps/x/db.yaml', text: 'container_image: db:1\n' }],
      ['app db: create'],
    ],
    [
      'moves a file by two paths of one object',
      set(webFile(null), webFile(WEB, { path: 'apps/x/web.yaml' })),
      [
        { path: 'apps/x/web.yaml', text: WEB },
        { path: 'apps/web.yaml', text: null },
      ],
      ['fix the files'],
    ],
  ])('%s', async (_name, changes, edits, paragraphs) => {
    const drafted = await draftSet(changes, viewOf(VALID));
    expect(drafted?.commit.edits).toEqual(edits);
    expect(headers(drafted?.commit.message)).toEqual(paragraphs);
  });

  it('removes one of two files of an object, which stays as the other one has it', async () => {
    const view = viewOf({ ...VALID, 'apps/x/web.yaml': WEB }, VALID);
    const drafted = await draftSet(set(webFile(null)), view);
    expect(drafted?.commit.edits).toEqual([{ path: 'apps/web.yaml', text: null }]);
    expect(drafted?.steps).toEqual([]);
  });

  it('is refused because of a text that a file has already, but another file of the name keeps back', async () => {
    const error = await refusal(set(webFile(WEB)), viewOf({ ...VALID, 'apps/x/web.yaml': WEB }, VALID));
    expect(error.kind).toBe('conflict');
    expect(error.details.problems).toContainEqual(expect.objectContaining({ file: 'apps/x/web.yaml' }));
  });

  it('is refused with the error of each change that cannot be made, and changes nothing in the view', async () => {
    const view = viewOf(VALID);
    const changes = set(change('web', '2'), change('ghost', '2'), createApp('cron'), group('lab', ['ghost']));
    const error = (await draftSet(changes, view).catch((refused: unknown) => refused)) as ChangesRefused;
    expect(Array.from(error.errors, ([index, { kind }]) => [index, kind]).sort()).toEqual([
      [1, 'absent'],
      [2, 'present'],
      [3, 'absent'],
    ]);
    expect(view.texts.get('apps/web.yaml')).toBe(WEB);
    expect(view.desired.app('web')?.content?.container_image).toBe('nginx:1.26');
  });

  it.each<[string, ChangeSet, HoldfastError['kind'], RegExp]>([
    [
      'a list of a group that has an app which the set deletes',
      set(remove('app', 'cron'), group('lab', ['cron'])),
      'invalid',
      /^device group "lab" is to list app "cron", which is to be deleted/,
    ],
    ['a text that is invalid', set(webFile('[')), 'conflict', /^apps\/web\.yaml:1:/],
    [
      'a removed file of an app that a group lists',
      set(webFile(null)),
      'conflict',
      /^device-groups\/edge\.yaml:1:8: /,
    ],
    [
      'a text for a file of another blob',
      set(webFile(WEB, { expected: 'f00' })),
      'moved-on',
      /^the file has changed: the blob of the file is/,
    ],
    [
      'a text for a new file where there is one',
      set(webFile('', { path: 'apps/x/web.yaml', expected: null })),
      'moved-on',
      /^the file has changed/,
    ],
  ])('is refused because of %s', async (_name, changes, kind, message) => {
    const error = await refusal(changes, viewOf(VALID));
    expect([error.kind, error.message]).toEqual([kind, expect.stringMatching(message)]);
  });

  it('has the subject, the reason and the trailers that are asked for', async () => {
    const wanted = { ...set(change('web', '2')), subject: 'Roll out', trailers: ['Restores: abc'] };
    const context = { ...CONTEXT, reason: 'the till\r\nis slow\u0007' };
    expect((await draftSet(wanted, viewOf(VALID), RULES, context))?.commit.message).toBe(
      [
        'Roll out\n',
        'the till\nis slow\n',
        'app web: container_image nginx:1.26 -> web:2\n',
        'Request-Id: r-1\nApi-User: pat\nRestores: abc\n',
      ].join('\n'),
    );
  });
});
