import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderImport } from '../../src/cli/compose-report.ts';
import { importCompose } from '../../src/compose/import.ts';
import { closestName } from '../../src/suggest.ts';
import { DEFAULTS } from '../support/fleet.ts';
import { PROJECT } from '../support/project.ts';

const GOLDEN = join(PROJECT, 'test/golden/compose');

/** Reads a file of a project as if that were in /srv; throws if there is none. */
function readerOf(name: string): (path: string) => string {
  return (path) => readFileSync(join(GOLDEN, name, relative(`/srv/${name}`, path)), 'utf8');
}

describe('a Compose file becomes', () => {
  it.each(readdirSync(GOLDEN))('apps and a group, with a report of what is left out: %s', async (name) => {
    const names = readdirSync(join(GOLDEN, name));
    const file = names.find((each) => /\.ya?ml$/.test(each)) ?? '';
    const readFile = readerOf(name);
    const result = importCompose({
      text: readFile(`/srv/${name}/${file}`),
      file,
      folder: `/srv/${name}`,
      home: '/home/ops',
      environment: {},
      dotenv: names.includes('.env') ? readFile(`/srv/${name}/.env`) : null,
      group: null,
      defaults: DEFAULTS,
      readFile,
      suggest: closestName,
    });
    const view = { file, folder: 'desired-state', isDryRun: true, format: 'text', hasColors: false } as const;
    await expect(renderImport(result, view)).toMatchFileSnapshot(join(GOLDEN, name, 'expected.txt'));
  });
});
