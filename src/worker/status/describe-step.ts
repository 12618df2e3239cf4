import { printable } from '../../text/printable.ts';
import type { Step } from '../plan/model.ts';

/** Describes a step as one line for people. */
export function describeStep(step: Step): string {
  return printable(`${step.app}: ${sentenceOf(step)}`);
}

function sentenceOf(step: Step): string {
  switch (step.do) {
    case 'pull':
      return `pull ${step.image} (id ${step.id})`;
    case 'create':
      return `create ${step.name} from ${step.record.container_image} (id ${step.record.app_id}), without starting it`;
    case 'stop':
      return `stop ${step.name}, which has ${step.grace} s to end`;
    case 'rename':
      return `rename ${step.name} to ${step.to}`;
    case 'start':
      return `start ${step.name}`;
    case 'restart':
      return `restart ${step.name}, which has ${step.grace} s to end`;
    case 'remove':
      return `remove ${step.name}`;
  }
}
