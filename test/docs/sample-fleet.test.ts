import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { writeFiles } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { PROJECT } from '../support/project.ts';

const SAMPLE = join(PROJECT, 'desired-state');
const STOREFRONT = 'apps/shop/storefront.yaml';
const LAB = 'device-groups/lab.yaml';

/** What devices would do if these files of the sample fleet were changed: `storefront restart: lab, stores`. */
async function effectsOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  const { folder, commit } = await testRepository();
  const copy = join(folder, 'desired-state');
  await cp(SAMPLE, copy, { recursive: true });
  await commit({});
  await writeFiles(copy, files);
  const { code, out } = await runCli(['plan', copy, '--format', 'json']);
  expect(code).toBe(0);
  const { effects, problems } = JSON.parse(out);
  expect(problems).toEqual([]);
  return effects.map(
    ({ app, action, groups }: { app: string; action: string; groups: string[] }) =>
      `${app} ${action}: ${groups.join(', ')}`,
  );
}

describe('the sample fleet', () => {
  it('has no problems and no warnings', async () => {
    const { code, out } = await runCli(['validate', SAMPLE]);
    expect([code, out]).toEqual([0, expect.stringMatching(/: 7 apps and 3 device groups, 0 problems\n$/)]);
  });

  it('says in lab.yaml how a version is tried there first, and that changes the lab alone', async () => {
    const [storefront, lab] = await Promise.all(
      [STOREFRONT, LAB].map((path) => readFile(join(SAMPLE, path), 'utf8')),
    );
    expect(lab).toContain('A change of storefront.yaml reaches them and the stores at the same time.');
    const next = (storefront ?? '').replace('storefront:2.14.1', 'storefront:2.15.0');
    expect(await effectsOf({ [STOREFRONT]: next })).toEqual(['storefront restart: lab, stores']);
    expect(lab).toContain(
      'copy that file to storefront-next.yaml, change the copy, and list storefront-next',
    );
    const effects = await effectsOf({
      'apps/shop/storefront-next.yaml': next,
      [LAB]: (lab ?? '').replace('[storefront,', '[storefront-next,'),
    });
    expect(effects).toEqual(['storefront-next start: lab', 'storefront stop: lab']);
  });
});
