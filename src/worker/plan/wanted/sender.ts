import { hash } from 'node:crypto';
import type { Memory } from '../memory.ts';

/** Where a reply comes from. */
interface Sender {
  /** The source of its ids. */
  source: string;
  /** What is to be remembered of the fleet that it named, or that its address stood for. */
  named: Memory['named'];
  /** Whether ids that this device has seen mean the same there. */
  isSame: boolean;
}

/**
 * Returns where a reply of a manager for a group comes from. The source of ids is the fleet and the group, or the manager's
 * address until a reply has named the fleet. A proxy can strip the ETag that names it: a reply that names none is judged by
 * what its address stood for last, or apps could be taken away without a higher id.
 */
export function senderOf(
  fleet: string | null,
  manager: string,
  group: string,
  memory: Pick<Memory, 'source' | 'named' | 'epoch'>,
): Sender {
  const isKnown = memory.named?.manager === manager && memory.named.group === group;
  const unnamed = sourceOf(manager, group, memory.epoch);
  const named = fleet === null ? (isKnown ? memory.named : null) : { manager, group, fleet };
  const source = named === null ? unnamed : sourceOf(named.fleet, group, memory.epoch);
  return { source, named, isSame: memory.source === source || memory.source === unnamed };
}

/** `epoch` counts how often somebody had the ids forgotten. */
function sourceOf(fleetOrManager: string, group: string, epoch: number): string {
  const text = JSON.stringify([fleetOrManager, group, ...(epoch === 0 ? [] : [epoch])]);
  return hash('sha256', text).slice(0, 16);
}
