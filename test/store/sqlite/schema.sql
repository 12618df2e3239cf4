CREATE TABLE state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  fleet TEXT NOT NULL,
  sequence INTEGER NOT NULL DEFAULT 0,
  claimed TEXT,
  attempted_revision TEXT,
  attempted_at INTEGER,
  applied_revision TEXT,
  applied_at INTEGER,
  rules TEXT,
  default_floor INTEGER NOT NULL DEFAULT 0,
  id_sequence INTEGER NOT NULL DEFAULT 0,
  all_changed INTEGER NOT NULL DEFAULT 0,
  last_oid TEXT,
  seeded_from TEXT,
  report_bytes INTEGER NOT NULL DEFAULT 0,
  history TEXT,
  devices_heard_at INTEGER
) STRICT;
CREATE TABLE log_position (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  position INTEGER NOT NULL
) STRICT;
CREATE TABLE objects (
  kind TEXT NOT NULL CHECK (kind IN ('app', 'device_group', 'device')),
  name TEXT NOT NULL,
  oid TEXT NOT NULL,
  content TEXT NOT NULL,
  hash TEXT NOT NULL,
  path TEXT,
  blob TEXT,
  PRIMARY KEY (kind, name)
) STRICT;
CREATE TABLE counters (
  kind TEXT NOT NULL CHECK (kind IN ('app', 'device_group', 'device', 'prune')),
  name TEXT NOT NULL,
  last INTEGER NOT NULL,
  floor INTEGER NOT NULL,
  hash TEXT,
  changed INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX counters_by_change ON counters (changed);
CREATE TABLE reports (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  oid TEXT NOT NULL UNIQUE,
  arrived INTEGER NOT NULL,
  hostname TEXT NOT NULL,
  device_group TEXT NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE sqlite_sequence(name,seq);
CREATE INDEX reports_by_hostname ON reports (hostname, seq, device_group, created, updated);
CREATE INDEX reports_by_group ON reports (device_group, seq, created, updated);
CREATE INDEX reports_by_time ON reports (created, seq, updated);
CREATE INDEX reports_by_updated ON reports (updated, seq, created);
CREATE INDEX reports_in_order ON reports (seq, created);
CREATE INDEX reports_by_arrival ON reports (arrived);
CREATE TABLE devices (
  name TEXT PRIMARY KEY,
  slot TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE device_reports (
  name TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  until INTEGER,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX incidents_by_end ON incidents (until);
CREATE TABLE acts (
  number INTEGER NOT NULL,
  part INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (number, part)
) STRICT;
CREATE TABLE entries (
  n INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL,
  id_sequence INTEGER
) STRICT;
CREATE INDEX entries_by_time ON entries (at, kind);
CREATE INDEX entries_by_id_sequence ON entries (id_sequence, n) WHERE id_sequence IS NOT NULL;
CREATE TABLE entry_key_names (
  name TEXT PRIMARY KEY,
  key INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE entry_keys (
  key INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (key, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE entry_bodies (
  n INTEGER NOT NULL,
  part INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (n, part)
) STRICT;
