import { type Database, prepare } from '../../sqlite/connection.ts';
import type { Session } from '../../sqlite/session.ts';
import type { Incident } from './incident.ts';
import { type IncidentStore, MOST_ENDED } from './port.ts';

/** The incidents of a store in SQLite, which no other manager shares. */
export function sqliteIncidents(parts: {
  session: Session;
  reader: Database;
  writer: Database;
}): IncidentStore {
  const { session, reader, writer } = parts;
  const all = prepare<{ body: string }>(reader, 'SELECT body FROM incidents');
  const put = prepare(
    writer,
    'INSERT INTO incidents (id, until, body) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET until = excluded.until, body = excluded.body',
  );
  const dropOld = prepare(
    writer,
    `DELETE FROM incidents WHERE id IN
     (SELECT id FROM incidents WHERE until IS NOT NULL ORDER BY until DESC LIMIT -1 OFFSET ${MOST_ENDED})`,
  );
  return {
    load: () => session.read(() => all.all().map(({ body }) => JSON.parse(body) as Incident)),
    // NORMAL: what a loss of power undoes is found again.
    put: (incidents) =>
      session.write(() => {
        for (const incident of incidents) put.run(incident.id, incident.until, JSON.stringify(incident));
        dropOld.run();
      }, 'NORMAL'),
    leads: () => session.run(() => true),
  };
}
