import type { Pace } from '../../async/pace.ts';
import { subjectLine, summarizeStep, summarizeTogether } from '../../plan/describe.ts';
import type { Step } from '../../plan/step.ts';
import { keyOf } from '../../protocol/name.ts';
import { messageLine, messageParagraphs } from '../../text/message.ts';
import { type ChangeSet, isRemoval, keysOf, type Write, type WriteContext } from '../write.ts';

/** The message of a commit; `subject` is its first line. */
export interface Message {
  subject: string;
  text: string;
}

/** Resolves to the message of the commit of a set; thousands of groups can lose a deleted app. */
export async function commitMessage(
  set: ChangeSet,
  context: WriteContext,
  steps: readonly Step[],
  moreTrailers: readonly string[],
  pace: Pace,
): Promise<Message> {
  const own = new Map<string, string>();
  const others: string[] = [];
  const wanted = new Set(keysOf(set));
  for (const step of steps) {
    const key = keyOf(step.kind, step.name);
    if (wanted.has(key)) own.set(key, summarizeStep(step));
    else others.push(summarizeStep(step));
    await pace.step();
  }
  const subject = messageLine(set.subject ?? subjectOf(set.changes, own));
  const sentences = [...own.values(), ...others].filter((sentence) => sentence !== subject);
  const trailers = [
    `Request-Id: ${context.requestId}`,
    `Api-User: ${context.user}`,
    ...set.trailers,
    ...moreTrailers,
  ];
  const reason = messageParagraphs(context.reason ?? '');
  const parts = [subject, reason, sentences.join('\n'), trailers.map(messageLine).join('\n')];
  return { subject, text: `${parts.filter((part) => part !== '').join('\n\n')}\n` };
}

function subjectOf(changes: readonly Write[], sentences: ReadonlyMap<string, string>): string {
  const [change] = changes;
  // The delete of an object that was never applied has no step, nor has an edit that changes nothing for devices.
  if (sentences.size === 0 && changes.length === 1 && change !== undefined)
    return subjectLine(change, [isRemoval(change) ? 'delete' : 'fix the file']);
  if (sentences.size === 0) return 'fix the files';
  return summarizeTogether([...sentences.values()]);
}
