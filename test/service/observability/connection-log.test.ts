import { describe, expect, it } from 'vitest';
import { createConnectionLog } from '../../../src/service/observability/connection-log.ts';

describe('createConnectionLog', () => {
  it('warns when four fifths of the limit of open files are connections, at most once a minute', () => {
    const lines: object[] = [];
    let now = 0;
    const log = createConnectionLog({ warn: (facts: object) => lines.push(facts) } as never, 100, () => now);
    log(79);
    expect(lines).toEqual([]);
    log(80);
    log(79);
    log(81);
    expect(lines).toEqual([{ connections: 80, limit: 100 }]);
    now += 60_000;
    log(90);
    expect(lines.slice(1)).toEqual([{ connections: 90, limit: 100 }]);
  });

  it('says nothing if the limit is unknown', () => {
    createConnectionLog({} as never, null, () => 0)(1_000_000);
  });
});
