import type { Logger } from 'pino';
import type { OnProgress, Progress } from '../../reconcile/pass/dependencies.ts';

/** Milliseconds between two lines of the log, and between two drawings. */
const LOG_INTERVAL = 3000;
const DRAW_INTERVAL = 100;
/** Progress that comes after more milliseconds of silence than this belongs to another run. */
const PAUSE = 1000;
/** Characters of the bar. */
const WIDTH = 30;

/** Replaces the line that was drawn on the terminal before; an empty text removes it. */
export type Draw = (text: string) => void;

/** What `createProgressLog` needs. */
export interface ProgressOptions {
  logger: Logger;
  /** Null without a terminal. */
  draw: Draw | null;
  /** Milliseconds of a clock that never goes back. */
  elapsed(): number;
}

/** Shows the progress of long work: a line in the log every few seconds, and a bar on a terminal. */
export function createProgressLog({ logger, draw, elapsed }: ProgressOptions): OnProgress {
  let phase: Progress['phase'] | null = null;
  let reportedAt = 0;
  let loggedAt = 0;
  let drawnAt = 0;
  let isDrawn = false;

  const beginRun = (progress: Progress, now: number): void => {
    phase = progress.phase;
    loggedAt = now;
    drawnAt = now;
  };
  const updateBar = (progress: Progress, now: number): void => {
    const isDone = progress.done === progress.total;
    if (draw === null || (isDone ? !isDrawn : now - drawnAt < DRAW_INTERVAL)) return;
    draw(isDone ? '' : renderBar(progress));
    drawnAt = now;
    isDrawn = !isDone;
  };

  return (progress) => {
    const now = elapsed();
    if (progress.phase !== phase || now - reportedAt > PAUSE) beginRun(progress, now);
    reportedAt = now;
    updateBar(progress, now);
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
