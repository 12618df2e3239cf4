import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { descriptorTrouble, messageOf } from '../errors.ts';

/**
 * What to do where this process cannot open so many files more; null where it can. For those whose errors do not
 * say why a file could not be opened.
 */
export function missingDescriptors(count: number): string | null {
  const open: number[] = [];
  try {
    while (open.length < count) open.push(openSync(devNull, 'r'));
    return null;
  } catch (error) {
    return descriptorTrouble(messageOf(error));
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}
