import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { descriptorTrouble, messageOf } from '../errors.ts';

/**
 * What people are to do when this process cannot open `count` more files; null when it can. For errors that do not say
 * why a file could not be opened.
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
