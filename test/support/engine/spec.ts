import { appDefaults } from '../../../src/protocol/app.ts';
import type { AppRecord } from '../../../src/protocol/info.ts';
import type { ContainerSpec } from '../../../src/worker/engine/engine.ts';

/** A record of an app as the manager serves it, with defaults but for these fields. */
function appRecord(fields: Partial<AppRecord> = {}): AppRecord {
  return {
    app_name: 'web',
    container_image: 'example.com/web:v1',
    ...appDefaults(['nebula']),
    app_id: 1,
    _id: { $oid: '0'.repeat(24) },
    ...fields,
  };
}

/** The first container of an app, in Docker's own network unless another one is named. */
export function containerSpec(
  record: Partial<AppRecord> = {},
  fields: Partial<Omit<ContainerSpec, 'record'>> = {},
): ContainerSpec {
  const app = appRecord(record);
  return {
    name: `${app.app_name}-1`,
    image: app.container_image,
    record: app,
    slot: 1,
    labels: { 'holdfast.app': app.app_name },
    networks: ['bridge'],
    ...fields,
  };
}
