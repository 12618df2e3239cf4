import { describe, expect, it } from 'vitest';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { AppRecord } from '../../../src/protocol/info.ts';
import type { Step } from '../../../src/worker/plan/model.ts';
import { describeStep } from '../../../src/worker/status/describe-step.ts';
import { durationText } from '../../../src/worker/status/durations.ts';

const RECORD: AppRecord = {
  ...appDefaults(['nebula']),
  app_name: 'web',
  container_image: 'nginx:1.27',
  env_vars: { TOKEN: 'hunter2' },
  app_id: 17,
  _id: { $oid: '0'.repeat(24) },
};

describe('describeStep', () => {
  it.each<[Partial<Step>, string]>([
    [{ do: 'pull', id: 17, image: 'nginx:1.27' }, 'web: pull nginx:1.27 (id 17)'],
    [
      { do: 'create', slot: 1, name: 'web-1.next', record: RECORD },
      'web: create web-1.next from nginx:1.27 (id 17), without starting it',
    ],
    [{ do: 'stop', container: 'c', name: 'web-1', grace: 10 }, 'web: stop web-1, which has 10 s to end'],
    [{ do: 'rename', container: 'c', name: 'web-1.next', to: 'web-1' }, 'web: rename web-1.next to web-1'],
    [{ do: 'start', id: 1, container: 'c', name: 'web-1' }, 'web: start web-1'],
    [
      { do: 'restart', container: 'c', name: 'web-1', grace: 10 },
      'web: restart web-1, which has 10 s to end',
    ],
    [{ do: 'remove', container: 'c', name: 'web-1.old' }, 'web: remove web-1.old'],
  ])('of %j is %j', (step, text) => {
    expect(describeStep({ app: 'web', ...step } as Step)).toBe(text);
  });
});

describe('durationText', () => {
  it.each([
    [-5, '0 s'],
    [0, '0 s'],
    [59.4, '59 s'],
    [60, '1 min'],
    [61, '1 min 1 s'],
    [3600, '1 h'],
    [3661, '1 h 1 min'],
    [7199.9, '2 h'],
    [86_400, '1 d'],
    [90_000, '1 d 1 h'],
    [8_640_000, '100 d'],
  ])('of %d seconds is %j', (seconds, text) => {
    expect(durationText(seconds)).toBe(text);
  });
});
