// Run by mongosh in compose-many.yaml: initiates the replica set, and makes the account of the managers. Safe to repeat.
/* global connect, db, rs */
const { readFileSync } = require('node:fs');
const secret = (name) => readFileSync(`/run/secrets/${name}`, 'utf8').trim();

const root = secret('mongo-root-password');
db.auth('root', root);
try {
  rs.status();
} catch {
  const members = [1, 2, 3].map((n) => ({ _id: n - 1, host: `mongo-${n}:27017` }));
  rs.initiate({ _id: 'fleet', members });
}

// Waits until a member is elected. Accounts are written there.
const fleet = connect(`mongodb://root:${root}@mongo-1,mongo-2,mongo-3/admin?replicaSet=fleet`);
if (fleet.getUser('holdfast') === null) {
  const roles = [{ role: 'readWrite', db: 'holdfast' }];
  fleet.createUser({ user: 'holdfast', pwd: secret('mongo-password'), roles });
}
