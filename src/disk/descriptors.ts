import { closeSync, openSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { descriptorAdvice, messageOf } from '../errors.ts';

/** Returns how many files this process may have open at once; null if that is unknown, as on other systems than Linux. */
export function openFilesLimit(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

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
