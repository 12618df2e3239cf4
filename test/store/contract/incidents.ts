import { describe, expect, it } from 'vitest';
import type { Incident } from '../../../src/store/incidents/incident.ts';
import { AT, type OpenStore, useStore } from './support.ts';

function incident(n: number, until: number | null = null): Incident {
  const id = n.toString(16).padStart(12, '0');
  return {
    id,
    key: `problem:app/a-${n}`,
    kind: 'problem',
    since: AT,
    toldAt: null,
    until,
    text: 'x',
    objects: [],
    groups: [],
  };
}

/** The promises of `IncidentStore`. */
export function incidentsContract(open: OpenStore): void {
  describe('incidents', () => {
    const test = useStore(open);
    const all = async () => (await test.store.loadIncidents()).sort((a, b) => (a.id < b.id ? -1 : 1));

    it('are kept over a restart, and replaced by their ids', async () => {
      await test.store.putIncidents([incident(1), incident(2)]);
      await test.store.putIncidents([incident(2, AT + 5)]);
      await test.store.putIncidents([]);
      await test.reopen();
      expect(await all()).toEqual([incident(1), incident(2, AT + 5)]);
    });

    it('are dropped once a thousand later ones have ended; open ones stay', async () => {
      const ended = Array.from({ length: 1005 }, (_, n) => incident(n + 1, AT + n));
      await test.store.putIncidents([incident(5000), ...ended]);
      await test.store.putIncidents([incident(5001)]);
      const kept = await all();
      expect(kept.filter(({ until }) => until === null)).toEqual([incident(5000), incident(5001)]);
      expect(kept[0]).toEqual(ended[5]);
      expect(kept).toHaveLength(1002);
    });

    it('are decided by the manager that asked first', async () => {
      expect(await test.store.leads(AT)).toBe(true);
      expect(await test.store.leads(AT + 1000)).toBe(true);
    });
  });
}
