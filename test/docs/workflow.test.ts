import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { PROJECT } from '../support/project.ts';

interface Step {
  uses?: string;
  run?: string;
  env?: Record<string, string>;
}

it('.github/workflows/ci.yaml runs .ci/run on each Node.js that is supported, with MongoDB and pinned actions', async () => {
  const { jobs } = parse(await readFile(join(PROJECT, '.github/workflows/ci.yaml'), 'utf8'));
  const { strategy, steps }: { strategy: { matrix: { node: number[] } }; steps: Step[] } = jobs.test;
  const { engines } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
  const [, oldest] = /^>=(\d+)/.exec(engines.node) ?? [];
  expect(strategy.matrix.node).toEqual([Number(oldest), 22, 24]);
  expect(steps.flatMap(({ uses = '@v0' }) => (/@v\d+$/.test(uses) ? [] : [uses]))).toEqual([]);
  const step = steps.find(({ run }) => run === '.ci/run');
  expect(step?.env?.['MONGODB_URI']).toMatch(/^mongodb:.*replicaSet=/);
});
