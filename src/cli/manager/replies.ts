import type * as z from 'zod';
import { HoldfastError } from '../../errors.ts';
import { isMapValue } from '../../protocol/values.ts';
import { printable } from '../../text/printable.ts';
import { type CommandIo, UsageError } from '../shell/io.ts';
import { managerToAsk } from './ask.ts';
import {
  getReply,
  type ManagerAddress,
  type ManagerReply,
  refusalText,
  sendRequest,
  unexpectedText,
} from './client.ts';

/** Returns the manager that a command asks which does nothing without one. Throws a UsageError if none is named. */
export function requireManager(
  options: Readonly<Record<string, string | boolean | undefined>>,
  io: CommandIo,
): ManagerAddress {
  const manager = managerToAsk(options, io);
  if (manager !== null) return manager;
  throw new UsageError(
    'name a manager: with --server ADDRESS, HOLDFAST, or server in ~/.config/holdfast.yaml',
  );
}

const HINTS: Readonly<Record<number, string>> = {
  403: '; that account may not do this',
  404: '; it is not Holdfast, or it is an older version',
};

/** Reads what is below this path of `/api/v2/`. Rejects as `unavailable` if the manager does not give it. */
export async function readFrom<T>(manager: ManagerAddress, path: string, schema: z.ZodType<T>): Promise<T> {
  return parsedReply(manager, path, await getReply(manager, path), schema);
}

/** Sends a write. Rejects as `absent` if there is no such object, and as `unavailable` if the manager does not do it, with its reason. */
export async function sendTo<T>(
  manager: ManagerAddress,
  path: string,
  schema: z.ZodType<T>,
  sent?: object,
): Promise<T> {
  return parsedReply(manager, path, await sendRequest(manager, 'POST', path, sent), schema);
}

function parsedReply<T>(manager: ManagerAddress, path: string, reply: ManagerReply, schema: z.ZodType<T>): T {
  const { status, body } = reply;
  const missing = isMapValue(body)
    ? Object.keys(body).find((key) => key.endsWith('_exists') && body[key] === false)
    : undefined;
  if (missing !== undefined) {
    const noun = missing.replace(/_exists$/, '').replaceAll('_', ' ');
    throw new HoldfastError(
      'absent',
      `there is no such ${noun}: ${decodeURIComponent(path.split(/[?]/)[0]?.split('/')[1] ?? '')}`,
    );
  }
  if (status < 200 || status > 202) {
    const why = isMapValue(body) && typeof body['error'] === 'string' ? `: ${printable(body['error'])}` : '';
    throw new HoldfastError('unavailable', `${refusalText(manager, path, reply, HINTS)}${why}`);
  }
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  throw new HoldfastError('unavailable', unexpectedText(manager, path));
}
