import { describe, expect, it } from 'vitest';
import { completeApp } from '../../../src/desired/app.ts';
import { renderInfo } from '../../../src/http/info/render.ts';
import { infoRecord } from '../../../src/http/records.ts';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { GroupInfo } from '../../../src/store/objects/port.ts';
import { yieldsDuring } from '../../support/yielding.ts';

function infoOf(count: number): GroupInfo {
  const names = Array.from({ length: count }, (_, index) => `app-${index}`);
  const content = completeApp(
    { container_image: 'a "quoted" image', env_vars: { A: 'b' } },
    appDefaults(['x']),
  );
  const apps = names.map((name, index) => ({
    kind: 'app' as const,
    name,
    oid: 'f'.repeat(24),
    appId: index + 1,
    content,
  }));
  const group = {
    kind: 'device_group' as const,
    name: 'g',
    oid: 'e'.repeat(24),
    deviceGroupId: 7,
    pruneId: 9,
    content: { apps: names },
  };
  return { group, apps, revision: 'r', fleet: 'abcd', idSequence: 1 };
}

describe('renderInfo', () => {
  it.each([0, 1, 3])('returns the record of a group with %i apps as JSON', async (count) => {
    const info = infoOf(count);
    expect(await renderInfo(info)).toBe(JSON.stringify(infoRecord(info)));
  });

  it('yields to other work while it renders a group with very many apps', async () => {
    const info = infoOf(1000);
    expect(await yieldsDuring(() => renderInfo(info))).toBeGreaterThan(100);
  });
});
