/**
 * The thread of `Checkpointer`. Says when it has opened the file, of which it reads nothing yet. Then it answers each
 * 'checkpoint' once the log has been copied into the file as far as readers and the disk allow, and ends after 'close'.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { DatabaseSync } from '@photostructure/sqlite';

const db = new DatabaseSync(workerData);
parentPort?.on('message', (message) => {
  if (message === 'close') {
    db.close();
    parentPort?.close();
    return;
  }
  try {
    db.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // A later checkpoint tries again.
  }
  parentPort?.postMessage('done');
});
parentPort?.postMessage('open');
