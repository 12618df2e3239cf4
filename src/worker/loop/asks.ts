import { messageOf } from '../../errors.ts';
import { type AskAnswer, MAX_ANSWER_BYTES, type WaitingAsks } from '../../protocol/ask.ts';
import type { Parts } from '../parts.ts';
import type { Container } from '../plan/model.ts';
import type { Device } from './device.ts';
import { wallTimeOf } from './time.ts';

type WaitingAsk = WaitingAsks['asks'][number];

/** Answers what people ask of this device, if the manager says that something waits. Rejects only if the worker stops. */
export async function answerAsks(parts: Parts, device: Device): Promise<void> {
  if (device.isRivalled || parts.link.asksWaiting() === 0) return;
  for (const ask of await parts.link.readAsks(parts.stopping)) {
    const answer = await answerOf(ask, parts, device).catch((error: unknown) => refusal(messageOf(error)));
    parts.logger.info(
      { ask: ask.id, kind: ask.kind, app: ask.app, error: answer.error },
      'answered what was asked',
    );
    await parts.link.answerAsk(ask.id, answer, parts.stopping);
  }
}

async function answerOf(ask: WaitingAsk, parts: Parts, device: Device): Promise<AskAnswer> {
  if (ask.kind === 'retry') {
    const isKnown = device.retry(ask.app);
    return isKnown
      ? { text: '', truncated: false, error: null }
      : refusal(`no app "${ask.app}" is wanted here`);
  }
  if (!parts.config.ALLOW_LOGS) return refusal('ALLOW_LOGS is false on this device');
  const containers = (device.actual?.containers ?? []).filter(
    ({ app, name }) => app === ask.app && (ask.container === null || name === ask.container),
  );
  if (containers.length === 0) return refusal(`no container of app "${ask.app}" is here`);
  return logsOf(containers, ask, parts);
}

function refusal(error: string): AskAnswer {
  return { text: '', truncated: false, error: error.slice(0, 1000) };
}

/** The newest lines of all these containers, by their times; of several, each line names its container. */
async function logsOf(
  containers: readonly Container[],
  { lines, since }: WaitingAsk,
  parts: Parts,
): Promise<AskAnswer> {
  const from = since === null ? null : secondsSince(since, wallTimeOf(parts));
  const read = await Promise.all(
    containers.map(async ({ id, name }) => {
      const found = await parts.engine.timedLogs(id, lines, from);
      const named = containers.length === 1 ? found : found.map((line) => line.replace(' ', ` ${name} | `));
      return { named, isFull: found.length >= lines };
    }),
  );
  const all = read.flatMap(({ named }) => named).sort(byTime);
  const kept = newest(all.slice(-lines), MAX_ANSWER_BYTES);
  const truncated = kept.length < all.length || read.some(({ isFull }) => isFull);
  return { text: kept.map((line) => `${line}\n`).join(''), truncated, error: null };
}

/** The engine gives times of one length. Lines of one time stay as they were written. */
function byTime(one: string, other: string): number {
  const [a, b] = [one, other].map((line) => line.slice(0, line.indexOf(' ')));
  return a === b ? 0 : (a ?? '') < (b ?? '') ? -1 : 1;
}

/** The last lines that have so many bytes together. */
function newest(lines: readonly string[], most: number): string[] {
  let bytes = 0;
  const first = lines.findLastIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > most;
  });
  return lines.slice(first + 1);
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `10m` or a time in ISO 8601, as Unix seconds. */
function secondsSince(since: string, now: number): number {
  const [, number, unit = ''] = /^(\d+)([smhd])$/.exec(since) ?? [];
  return number === undefined ? Date.parse(since) / 1000 : now - Number(number) * (UNITS[unit] ?? 0);
}
