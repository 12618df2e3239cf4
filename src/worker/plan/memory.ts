import * as z from 'zod';
import { AppRecord } from '../../protocol/info.ts';
import { TROUBLE_CODES } from '../../protocol/report.ts';

/** A version of an app that ran well. Without a record it is known from its containers alone. */
const Good = z.object({
  id: z.int(),
  source: z.string(),
  content: z.string(),
  count: z.int(),
  imageId: z.string().nullable(),
  record: AppRecord.nullable(),
});
export type Good = z.infer<typeof Good>;

/** A version that failed and was taken back: it is not tried again until there is a higher id. */
const Failed = z.object({
  id: z.int(),
  content: z.string(),
  code: z.enum(TROUBLE_CODES),
  text: z.string(),
  /** Seconds since the Unix epoch. */
  since: z.int(),
  /** Last lines that the container wrote. */
  log: z.array(z.string()),
});
export type Failed = z.infer<typeof Failed>;

const AppMemory = z.object({
  good: Good.nullable(),
  failed: Failed.nullable(),
  /** The id that somebody at the device asked to try again although it had failed. */
  retry: z.int().nullable(),
  /** The image that was pulled for an id. */
  staged: z.object({ id: z.int(), imageId: z.string() }).nullable(),
  /** Whether what ran before an id took over was well, so that it is worth going back to. */
  wayBack: z.object({ id: z.int(), isGood: z.boolean() }).nullable(),
  /** Ids of containers that the worker stopped, and has not started again: they have not ended by themselves. */
  stopped: z.array(z.string()).optional(),
});
export type AppMemory = z.infer<typeof AppMemory>;

/** The last reply that was accepted. Its apps are checked again when it is read. */
const KeptReply = z.object({
  source: z.string(),
  etag: z.string(),
  revision: z.string().nullable(),
  body: z.unknown(),
});

/** An image that this worker pulled, and when a container last used it, in seconds since the Unix epoch. */
const Pulled = z.object({ reference: z.string(), lastUse: z.int() });

/**
 * What the worker remembers over a restart. It is a cache: containers carry labels that say the same, so that nothing
 * restarts if it is lost.
 */
export const Memory = z.object({
  format: z.literal(1),
  /** What the engine said the machine is called; null before it has. */
  name: z.string().nullable(),
  /** Tells this worker from another one of the same name; a lost memory makes a new one. */
  instance: z.string().optional(),
  /** The instance of the worker that holds the name; absent while it is this one. */
  rival: z.string().optional(),
  reply: KeptReply.nullable(),
  /** The ETag whose work is done. */
  done: z.string().nullable(),
  /** The source of the ids below; null before the first reply. */
  source: z.string().nullable(),
  /** The fleet that a manager and group stood for when a reply named it last; null before one has. */
  named: z.object({ manager: z.string(), group: z.string(), fleet: z.string() }).nullable(),
  /** How often somebody at the device had the ids forgotten: part of the source. */
  epoch: z.int(),
  groupId: z.int().nullable(),
  /** The last prune that was carried out, or the first that was seen. */
  pruneId: z.int().nullable(),
  apps: z.record(z.string(), AppMemory),
  /** By image id. */
  pulled: z.record(z.string(), Pulled),
});
export type Memory = z.infer<typeof Memory>;

/** Returns what a worker knows that has never run. */
export function emptyMemory(): Memory {
  return {
    format: 1,
    name: null,
    reply: null,
    done: null,
    source: null,
    named: null,
    epoch: 0,
    groupId: null,
    pruneId: null,
    apps: {},
    pulled: {},
  };
}
