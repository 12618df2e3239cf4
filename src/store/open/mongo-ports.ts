import { mongoHistory } from '../history/mongo.ts';
import { type MongoObjectParts, MongoObjects } from '../objects/mongo.ts';
import { Committer, type CommitterOptions } from '../root/committer.ts';
import type { Ports } from './ports.ts';

/** What the ports that share a root document depend on. */
export type DocumentOptions = Omit<MongoObjectParts, 'committer'> & Omit<CommitterOptions, 'newWriter'>;

const WRITER_BYTES = 12;

/** Opens what a database keeps under its root. */
export function documentPorts(
  options: DocumentOptions,
): Pick<Ports, 'history' | 'close'> & { store: MongoObjects; shared: MongoObjects } {
  const { documents, random } = options;
  const newWriter = (): string => Buffer.from(random(WRITER_BYTES)).toString('hex');
  const committer = new Committer(documents, { ...options, newWriter });
  const store = new MongoObjects({ ...options, committer });
  const history = mongoHistory({ documents, committer });
  return { store, shared: store, history, close: () => committer.close() };
}
