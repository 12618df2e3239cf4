import { describe, expect, it } from 'vitest';
import { testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';
import { expectServesTheRest } from './bad-commit.ts';

const utf16 = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
const IMAGE = 'container_image: web:1\n';
/** YAML whose aliases stand for a billion values. */
const billionLaughs = [
  'a: &a [x, x]',
  ...'bcdefghij'
    .split('')
    .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[i]}`).join(', ')}]`),
].join('\n');

/** Files that are not valid apps, each with the line and the code of its first problem. */
const BAD: readonly (readonly [name: string, content: string | Buffer, problem: string])[] = [
  ['alias-bomb', `${IMAGE}env_vars:\n  A: &a x\n  B: *a\n`, '4 yaml-alias'],
  ['billion-laughs', billionLaughs, '2 yaml-alias'],
  ['merge-keys', `${IMAGE}env_vars:\n  <<: {A: b}\n`, '3 field-invalid'],
  ['deep-flow', `container_image: ${'['.repeat(5000)}\n`, '1 yaml-depth'],
  ['deep-block', Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), '33 yaml-depth'],
  ['proto', `${IMAGE}__proto__:\n  polluted: true\n`, '2 yaml-key'],
  ['proto-inside', `${IMAGE}env_vars:\n  __proto__: x\n`, '3 yaml-key'],
  ['constructor-key', `${IMAGE}env_vars: {constructor: x}\n`, '2 yaml-key'],
  ['huge-integer', `${IMAGE}starting_ports: [9007199254740993]\n`, '2 yaml-integer'],
  ['not-a-number', `${IMAGE}containers_per: {server: .nan}\n`, '2 field-invalid'],
  ['infinite', `${IMAGE}containers_per: {server: .inf}\n`, '2 field-invalid'],
  ['date', `${IMAGE}env_vars:\n  SINCE: !!timestamp 2001-12-14\n`, '3 yaml-tag'],
  ['binary-tag', `${IMAGE}env_vars: {A: !!binary aGVsbG8=}\n`, '2 yaml-tag'],
  ['custom-tag', `${IMAGE}env_vars: !!js/function "x"\n`, '2 yaml-tag'],
  ['bytes', Buffer.from([0, 1, 2, 0xff, 0xfe, 0x80]), '1 file-not-text'],
  ['utf-16', utf16(IMAGE), '1 file-not-text'],
  ['latin-1', Buffer.from('container_image: caf\xe9\n', 'latin1'), '1 file-not-text'],
  ['tabs', `${IMAGE}env_vars:\n\tA: b\n`, '3 yaml-syntax'],
  ['two-documents', `${IMAGE}---\n${IMAGE}`, '2 yaml-syntax'],
  ['same-key-twice', `${IMAGE}running: true\nrunning: false\n`, '3 yaml-syntax'],
  ['a-list', '- container_image\n', '1 field-invalid'],
  ['empty', '', '1 field-missing'],
  ['large', `${IMAGE}#${'x'.repeat(64 * 1024)}\n`, '1 file-too-large'],
  [
    'lfs',
    `version https://git-lfs.github.com/spec/v1\noid sha256:${'4d'.repeat(32)}\nsize 12345\n`,
    '1 file-lfs-pointer',
  ],
];

/** Files that look unusual, but are valid apps. */
const ODD: readonly (readonly [name: string, content: string | Buffer])[] = [
  ['byte-order-mark', `\ufeff${IMAGE}`],
  ['windows-lines', 'container_image: web:1\r\nrunning: false\r\n'],
  ['a-date-as-text', `${IMAGE}env_vars: {SINCE: "2001-12-14"}\n`],
];

async function commit(
  manager: TestManager,
  files: readonly (readonly [string, string | Buffer])[],
): Promise<void> {
  const paths = files.map(([name, content]) => [`desired-state/apps/${name}.yaml`, content] as const);
  await manager.repository.commit(Object.fromEntries(paths));
}

describe('a commit with many hostile files', () => {
  it('is applied with a problem for each of them, with file and line, and the rest is served', async () => {
    const repository = await testRepository();
    const manager = await startManager({ repository, files: SMALL_FLEET });
    await commit(manager, [...BAD.map(([name, content]) => [name, content] as const), ...ODD]);
    const problems = BAD.map(([name, , problem]) => `apps/${name}.yaml:${problem}`);
    const { body } = await manager.reconcile();
    const first = new Map<string, string>();
    for (const { file, line, code } of body.problems) {
      if (!first.has(file)) first.set(file, `${file}:${line} ${code}`);
    }
    expect([...first.values()].sort()).toEqual([...problems].sort());
    const all = body.problems.map(
      ({ file, line, code }: { file: string; line: number; code: string }) => `${file}:${line} ${code}`,
    );
    await expectServesTheRest(manager, { problems: all, apps: ODD.map(([name]) => name) });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('a hostile file in place of a valid one', () => {
  const fleet = suiteManager({ files: SMALL_FLEET });

  it.each(BAD)(
    '%s: leaves its app as it was and blocks only writes to it',
    async (name, content, problem) => {
      const manager = fleet();
      await commit(manager, [['cron', `container_image: before-${name}:1\n`]]);
      expect((await manager.reconcile()).body.problems).toEqual([]);
      const { body: before } = await manager.get('/api/v2/apps/cron');
      expect(before.container_image).toBe(`before-${name}:1`);
      await commit(manager, [['cron', content]]);
      const { body } = await manager.reconcile();
      const [{ file, line, code }] = body.problems;
      expect(`${file}:${line} ${code}`).toBe(`apps/cron.yaml:${problem}`);
      expect((await manager.get('/api/v2/apps/cron')).body).toEqual(before);
      const write = await manager.put('/api/v2/apps/cron/update', { privileged: true });
      expect(write.status).toBe(409);
      expect(write.body.error).toContain('apps/cron.yaml');
      const other = await manager.put('/api/v2/apps/web/update', { container_image: `other-${name}:1` });
      expect(other.status).toBe(202);
    },
  );
});
