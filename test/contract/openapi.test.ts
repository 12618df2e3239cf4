import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

/** Every line of the table of endpoints: method, path, success status, and whether it takes a body. */
const ENDPOINTS: readonly (readonly [string, string, number, boolean])[] = [
  ['GET', '/api/v2/status', 200, false],
  ['POST', '/api/v2/apps/{app_name}', 200, true],
  ['DELETE', '/api/v2/apps/{app_name}', 200, false],
  ['GET', '/api/v2/apps', 200, false],
  ['GET', '/api/v2/apps/{app_name}', 200, false],
  ['POST', '/api/v2/apps/{app_name}/stop', 202, false],
  ['POST', '/api/v2/apps/{app_name}/start', 202, false],
  ['POST', '/api/v2/apps/{app_name}/restart', 202, false],
  ['POST', '/api/v2/prune', 202, false],
  ['POST', '/api/v2/apps/{app_name}/update', 202, true],
  ['PUT', '/api/v2/apps/{app_name}/update', 202, true],
  ['PATCH', '/api/v2/apps/{app_name}/update', 202, true],
  ['GET', '/api/v2/device_groups/{device_group_name}/info', 200, false],
  ['GET', '/api/v2/device_groups/{device_group_name}', 200, false],
  ['GET', '/api/v2/device_groups', 200, false],
  ['POST', '/api/v2/device_groups/{device_group_name}', 200, true],
  ['DELETE', '/api/v2/device_groups/{device_group_name}', 200, false],
  ['POST', '/api/v2/device_groups/{device_group_name}/update', 202, true],
  ['PUT', '/api/v2/device_groups/{device_group_name}/update', 202, true],
  ['PATCH', '/api/v2/device_groups/{device_group_name}/update', 202, true],
  ['POST', '/api/v2/device_groups/{device_group_name}/prune', 202, false],
  ['GET', '/api/v2/reports', 200, false],
  ['POST', '/api/v2/reports', 200, true],
  ['GET', '/api/v2/reconcile', 200, false],
  ['POST', '/api/v2/reconcile', 200, false],
];

interface Operation {
  responses: Record<string, unknown>;
  requestBody?: unknown;
  parameters?: { name: string; in: string; required?: boolean }[];
}

describe('the description at /openapi.json tells what the tables tell', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const description = async () => (await manager().get('/openapi.json')).body;
  const operation = async (method: string, path: string): Promise<Operation | undefined> =>
    (await description()).paths[path]?.[method.toLowerCase()];

  it.each(ENDPOINTS)('%s %s | %i', async (method, path, status, takesBody) => {
    const found = await operation(method, path);
    expect(found, 'is described').toBeDefined();
    expect(Object.keys(found?.responses ?? {}).filter((code) => code.startsWith('2'))).toEqual([
      String(status),
    ]);
    expect(found?.requestBody !== undefined).toBe(takesBody);
    const inPath = (found?.parameters ?? [])
      .filter((one) => one.in === 'path')
      .map(({ name }) => `{${name}}`);
    expect(inPath).toEqual(path.match(/\{\w+\}/g) ?? []);
  });

  it('Reports query: all query parameters are optional', async () => {
    const query =
      (await operation('GET', '/api/v2/reports'))?.parameters?.filter((one) => one.in === 'query') ?? [];
    expect(query.map(({ name }) => name).sort()).toEqual([
      'device_group',
      'hostname',
      'last_id',
      'page_size',
      'report_creation_time',
      'report_creation_time_filter',
      'updated',
    ]);
    expect(query.filter(({ required }) => required === true)).toEqual([]);
  });

  it('every reference leads somewhere', async () => {
    const document = await description();
    const references = JSON.stringify(document).match(/"\$ref":"[^"]+"/g) ?? [];
    for (const text of new Set(references)) {
      const steps = (JSON.parse(`{${text}}`) as { $ref: string }).$ref.replace(/^#\//, '').split('/');
      const target = steps.reduce<unknown>(
        (value, step) => (value as Record<string, unknown>)?.[step],
        document,
      );
      expect(target, text).toBeDefined();
    }
    expect(references.length).toBeGreaterThan(0);
  });
});
