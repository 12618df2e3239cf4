import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';

type Files = Readonly<Record<string, string | null>>;

/** The comment for a pull request that turns the files `before` into `after`. */
async function commentOf(before: Files, after: Files): Promise<string> {
  const repository = await testRepository();
  await repository.commit(inDesiredState(before));
  await repository.commit(inDesiredState(after));
  const folder = join(repository.folder, 'desired-state');
  const { out } = await runCli(['plan', folder, '--against', 'HEAD~1', '--format', 'markdown']);
  return out.replaceAll(`${repository.folder}/`, '');
}

describe('plan --format markdown', () => {
  it('begins with the mark of the comment and the totals, and has deletes and restarts before other changes', async () => {
    const comment = await commentOf(
      {
        'apps/web.yaml': 'container_image: web:1\nenv_vars: {LEVEL: info, KEPT: "1"}\n',
        'apps/old.yaml': 'container_image: old:1\n',
        'apps/off.yaml': 'container_image: off:1\nrunning: false\n',
        'device-groups/lab.yaml': 'apps: [web, old]\n',
        'device-groups/gone.yaml': 'apps: [web]\n',
      },
      {
        'apps/web.yaml': 'container_image: web:2\nenv_vars: {LEVEL: debug, KEPT: "1"}\n',
        'apps/old.yaml': null,
        'apps/off.yaml': 'container_image: off:2\nrunning: false\n',
        'device-groups/lab.yaml': 'apps: [web]\n',
        'device-groups/gone.yaml': null,
      },
    );
    expect(comment).toBe(`<!-- holdfast plan: desired-state -->
### Plan: 0 to create, 3 to update, 2 to delete.

**device group \`gone\` is DELETED: its devices stop all their apps**

**Deletes**

| | object | field | before | after |
| --- | --- | --- | --- | --- |
| - | device group \`gone\` |  | \`web\` |  |
| - | app \`old\` |  | \`old:1\` |  |

**What devices will do**

| app | | on device groups |
| --- | --- | --- |
| \`old\` | **stops** | \`lab\` |
| \`web\` | **stops** | \`gone\` |
| \`web\` | **restarts** | \`lab\` |

**Changes**

| | object | field | before | after |
| --- | --- | --- | --- | --- |
| ~ | app \`web\` | \`container_image\` | \`web:1\` | \`web:2\` |
| ~ | app \`web\` | \`env_vars.LEVEL\` | \`info\` | \`debug\` |
| ~ | app \`off\` | \`container_image\` | \`off:1\` | \`off:2\` |
| ~ | device group \`lab\` | \`apps\` | \`web, old\` | \`web\` |
`);
  });

  it('says that nothing changes, and shows problems', async () => {
    const fleet = { 'apps/web.yaml': 'container_image: web:1\n' };
    expect(await commentOf(fleet, { 'README.md': 'x\n' })).toBe(
      '<!-- holdfast plan: desired-state -->\n### No changes.\n',
    );
    expect(await commentOf(fleet, { 'apps/bad.yaml': 'container_image: 1\n' })).toContain(
      '**Problems**\n\n- error: `desired-state/apps/bad.yaml:1:1`: ',
    );
  });

  it.each([
    ['a mention, as code', '@everyone', '`@everyone`'],
    ['a pipe and a backtick, as entities', 'a|b`c', '<code>a&#124;b&#96;c</code>'],
    ['HTML, as code', '<img src=x>', '`<img src=x>`'],
    ['a line break, as an escape', 'a\nb', '<code>a&#92;u000ab</code>'],
    ['a value of a thousand letters, cut', 'x'.repeat(1000), `\`${'x'.repeat(200)}…\``],
  ])('shows %s', async (_, value, shown) => {
    const app = (text: string) => `container_image: a:1\nenv_vars: {V: ${JSON.stringify(text)}}\n`;
    const comment = await commentOf({ 'apps/a.yaml': app('old') }, { 'apps/a.yaml': app(value) });
    expect(comment).toContain(`| ~ | app \`a\` | \`env_vars.V\` | \`old\` | ${shown} |\n`);
  });

  it('has at most 60,000 characters: whole rows, deletes and restarts first, and how many are left out', async () => {
    const before: Record<string, string | null> = {};
    const after: Record<string, string | null> = {};
    const names = Array.from({ length: 800 }, (_, index) => `app-with-quite-a-long-name-${index}`);
    for (const [index, name] of names.entries()) {
      before[`apps/${name}.yaml`] = 'container_image: old:1\n';
      after[`apps/${name}.yaml`] = index < 100 ? null : 'container_image: new:1\n';
    }
    before['device-groups/all.yaml'] = `apps: [${names.join(', ')}]\n`;
    after['device-groups/all.yaml'] = `apps: [${names.slice(100).join(', ')}]\n`;
    const comment = await commentOf(before, after);
    expect(comment.length).toBeLessThanOrEqual(60_000);
    expect(comment.match(/^\| - \| app /gm)).toHaveLength(100);
    expect(comment.match(/\*\*stops\*\*/g)).toHaveLength(100);
    expect(comment.match(/\*\*restarts\*\*/g)).toHaveLength(700);
    const shown = comment.match(/^\| ~ .* \|$/gm)?.length ?? 0;
    expect(comment.trimEnd()).toMatch(
      new RegExp(`_${701 - shown} of 701 rows of "Changes" are left out\\._$`),
    );
  });
});
