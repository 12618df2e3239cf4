import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { PROBLEM_CODES } from '../../src/desired/problem.ts';
import { APP_FIELDS, type App, appDefaults } from '../../src/protocol/app.ts';
import { OPTIONAL_FIELDS } from '../../src/protocol/optional-fields.ts';
import { APP_STATES, TROUBLE_CODES } from '../../src/protocol/report.ts';
import { createMetrics } from '../../src/service/observability/metrics.ts';
import { SETTINGS } from '../../src/settings/table.ts';
import { noCounts, renderMetrics } from '../../src/worker/metrics/exposition.ts';
import { startManager } from '../support/manager.ts';
import { noDevices } from '../support/no-devices.ts';
import { PROJECT } from '../support/project.ts';
import { deviceStatus } from '../worker/support.ts';

/** The table rows of a document, each as its cells. */
async function rowsOf(file: string): Promise<string[][]> {
  const lines = (await readFile(join(PROJECT, file), 'utf8')).split('\n');
  return lines
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

/** The texts between backticks. */
function codeIn(text = ''): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** The operations of a cell such as `GET`, `POST /a/one`, `/two`: each method with each path. */
function operationsIn(cell = ''): string[] {
  let [methods, path]: [string[], string] = [[], ''];
  return codeIn(cell).flatMap((code) => {
    const [, method, target] = /^([A-Z]+)? ?(\/\S+)?$/.exec(code) ?? [];
    if (path !== '' && method !== undefined) [methods, path] = [[], ''];
    if (method !== undefined) methods.push(method);
    if (target === undefined) return [];
    path = path === '' ? target : path.replace(/\/[^/]*$/, target);
    return methods.map((one) => `${one} ${path}`);
  });
}

describe('documents list exactly what the code has', () => {
  it('docs/desired-state.md: the fields of apps, in order, with their defaults', async () => {
    const optional: readonly string[] = OPTIONAL_FIELDS;
    const fields = APP_FIELDS.filter((field) => !optional.includes(field));
    const known: readonly string[] = fields;
    const documented = (await rowsOf('docs/desired-state.md')).flatMap(([, first, second]) => {
      const [[field = ''], [text]] = [codeIn(first), codeIn(second)];
      return known.includes(field) ? [[field, text === undefined ? undefined : parse(text)]] : [];
    });
    const defaults: Partial<App> = appDefaults(SETTINGS.DEFAULT_NETWORKS.fallback);
    expect(documented).toEqual(fields.map((field) => [field, defaults[field]]));
  });

  it('docs/desired-state.md: the optional fields of apps', async () => {
    const text = await readFile(join(PROJECT, 'docs/desired-state.md'), 'utf8');
    const [, section = ''] = /\n### Optional fields\n(.*?)\n##/s.exec(text) ?? [];
    const firsts = [...section.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell]) => codeIn(cell));
    expect(firsts.sort()).toEqual([...OPTIONAL_FIELDS].sort());
  });

  it('docs/desired-state.md: the codes of problems', async () => {
    const documented = (await rowsOf('docs/desired-state.md')).flatMap(([, cell]) => codeIn(cell));
    const codes = documented.filter((code) =>
      /^(file|name|yaml|field|app|group|folder|merge|port|mount|variable)-[a-z-]+$/.test(code),
    );
    expect(codes.sort()).toEqual([...PROBLEM_CODES].sort());
  });

  it('docs/devices.md: the states of apps, and the codes of trouble', async () => {
    const rows = await rowsOf('docs/devices.md');
    const firsts = rows.flatMap(([, cell]) =>
      /^`(?!holdfast_)[a-z_-]+`$/.test(cell ?? '') ? codeIn(cell) : [],
    );
    expect(firsts.sort()).toEqual([...APP_STATES, ...TROUBLE_CODES].sort());
    for (const cells of rows.filter(([, cell]) => firsts.includes(codeIn(cell)[0] ?? '')))
      expect(
        cells.slice(1, -1).every((cell) => cell !== ''),
        cells[1],
      ).toBe(true);
  });

  it('docs/operations.md: the metrics', async () => {
    const { text: exposition } = await createMetrics(noDevices).render();
    const metrics = [...exposition.matchAll(/^# TYPE (holdfast_\w+)/gm)].map(([, name = '']) => name);
    expect(metrics.length).toBeGreaterThan(5);
    const text = await readFile(join(PROJECT, 'docs/operations.md'), 'utf8');
    expect([...new Set(text.match(/\bholdfast_\w+/g))].sort()).toEqual(metrics.sort());
  });

  it('docs/devices.md: the metrics of the worker', async () => {
    const exposition = renderMetrics(deviceStatus(), noCounts(), { total: 1, free: 1 });
    const metrics = [...exposition.matchAll(/^# TYPE (holdfast_\w+)/gm)].map(([, name = '']) => name);
    const text = await readFile(join(PROJECT, 'docs/devices.md'), 'utf8');
    expect([...new Set(text.match(/\bholdfast_worker_\w+/g))].sort()).toEqual(metrics.sort());
  });

  it('docs/operations.md: the alerts of examples/prometheus-rules.yaml', async () => {
    const rules = await readFile(join(PROJECT, 'examples/prometheus-rules.yaml'), 'utf8');
    const alerts = [...rules.matchAll(/^ *- alert: (\w+)$/gm)].map(([, name = '']) => name);
    expect(alerts.length).toBeGreaterThan(5);
    const documented = (await rowsOf('docs/operations.md')).map(([, cell]) => codeIn(cell)[0] ?? '');
    expect(documented.filter((name) => /^Holdfast[A-Z]/.test(name)).sort()).toEqual(alerts.sort());
  });

  it('docs/architecture.md: the files of test/support', async () => {
    const files = (await readdir(join(PROJECT, 'test/support'))).filter((file) => /^[^.]+\.ts$/.test(file));
    const text = await readFile(join(PROJECT, 'docs/architecture.md'), 'utf8');
    const [, section = ''] = text.split('\n## The tests\n');
    const named = codeIn(section.split('\n## ')[0]).filter((code) => /^[\w-]+\.ts$/.test(code));
    expect([...new Set(named)].sort()).toEqual(files.sort());
  });

  it('docs/contract.md: the operations of the API', async () => {
    const manager = await startManager({ settings: { WEBHOOK_SECRET: 'secret' } });
    const { paths } = (await manager.get('/openapi.json')).body as { paths: Record<string, object> };
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const documented = (await rowsOf('docs/contract.md')).flatMap(([, cell]) => operationsIn(cell));
    expect(documented.filter((operation) => operation !== 'GET /openapi.json').sort()).toEqual(
      described.sort(),
    );
  });
});
