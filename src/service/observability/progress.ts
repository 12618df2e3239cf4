import type { Logger } from 'pino';
import type { Progress, TellProgress } from '../../reconcile/pass/dependencies.ts';

/** Milliseconds between two lines of the log, and between two drawings. */
const LOG_INTERVAL = 3000;
const DRAW_INTERVAL = 100;
/** After a silence of more milliseconds than this, the next progress is that of other work. */
const PAUSE = 1000;
const WIDTH = 30;

/** Draws over the line of a terminal that it drew before; an empty text takes it away. */
export type Draw = (text: string) => void;

/** What telling of progress needs. */
export interface ProgressOptions {
  logger: Logger;
  /** Null without a terminal. */
  draw: Draw | null;
  /** Milliseconds that pass. */
  elapsed(): number;
}

/** Tells people of long work how far it is: a line in the log every few seconds, and a bar on a terminal. */
export function createProgressLog({ logger, draw, elapsed }: ProgressOptions): TellProgress {
  let phase: Progress['phase'] | null = null;
  let heardAt = 0;
  let loggedAt = 0;
  let drawnAt = 0;
  let isDrawn = false;

  const begin = (progress: Progress, now: number): void => {
    phase = progress.phase;
    loggedAt = now;
    drawnAt = now;
  };
  const show = (progress: Progress, now: number): void => {
    const isDone = progress.done === progress.total;
    if (draw === null || (isDone ? !isDrawn : now - drawnAt < DRAW_INTERVAL)) return;
    draw(isDone ? '' : renderBar(progress));
    drawnAt = now;
    isDrawn = !isDone;
  };

  return (progress) => {
    const now = elapsed();
    if (progress.phase !== phase || now - heardAt > PAUSE) begin(progress, now);
    heardAt = now;
    show(progress, now);
    if (now - loggedAt < LOG_INTERVAL) return;
    const { done, total } = progress;
    if (isDrawn) draw?.('');
    logger.info({ done, total }, MESSAGES[progress.phase]);
    loggedAt = now;
  };
}

const MESSAGES: Readonly<Record<Progress['phase'], string>> = {
  reading: 'reading files',
  applying: 'applying changes',
};

function renderBar({ phase, done, total }: Progress): string {
  const filled = Math.floor((done / total) * WIDTH);
  const percent = Math.floor((done / total) * 100);
  return `${MESSAGES[phase]} [${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${percent} % of ${total}`;
}
