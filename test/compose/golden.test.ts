import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderImport } from '../../src/cli/import/compose-report.ts';
import { importProject } from '../../src/compose/import.ts';
import { readProject } from '../../src/compose/project.ts';
import { outsideVariables } from '../../src/compose/variables.ts';
import { DEFAULTS } from '../support/fleet.ts';
import { PROJECT } from '../support/project.ts';

const GOLDEN = join(PROJECT, 'test/golden/compose');
const NAMES = readdirSync(GOLDEN, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? entry.name : [],
);

describe('what Docker Compose makes of a file (recorded by test/golden/compose/record.sh) becomes', () => {
  it.each(NAMES)('apps and a group, with a report of what is left out: %s', async (name) => {
    const read = (file: string): string => readFileSync(join(GOLDEN, name, file), 'utf8');
    const names = readdirSync(join(GOLDEN, name));
    const file = names.find((each) => /\.ya?ml$/.test(each)) ?? '';
    const isRecorded = names.includes('raw.json');
    const project = readProject(read(isRecorded ? 'resolved.json' : file));
    if (project === null) throw new Error(`${name} is not the output of Compose`);
    const set = new Set(
      isRecorded
        ? read('environment.txt')
            .split('\n')
            .map((line) => line.replace(/=.*/, ''))
        : [],
    );
    const variables = isRecorded ? outsideVariables(JSON.parse(read('raw.json')), project, set) : null;
    const ownFolders = [`/srv/${name}`, '/home/ops'];
    const result = importProject(project, { group: null, defaults: DEFAULTS, ownFolders });
    const view = { file, folder: 'desired-state', isDryRun: true, format: 'text', hasColors: false } as const;
    await expect(renderImport({ ...result, variables }, view)).toMatchFileSnapshot(
      join(GOLDEN, name, 'expected.txt'),
    );
  });
});
