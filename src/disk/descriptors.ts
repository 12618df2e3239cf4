import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { descriptorAdvice, messageOf } from '../errors.ts';

/**
 * Checks whether this process can open `count` more files. Returns null if it can, and otherwise a sentence for users
 * that says what to do. For callers whose own errors would not show that files could not be opened.
 */
export function descriptorShortage(count: number): string | null {
  const descriptors: number[] = [];
  try {
    while (descriptors.length < count) descriptors.push(openSync(devNull, 'r'));
    return null;
  } catch (error) {
    return descriptorAdvice(messageOf(error));
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}
