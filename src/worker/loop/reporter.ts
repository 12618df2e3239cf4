import type { SendResult } from '../link/link.ts';
import { createMachine } from '../machine.ts';
import type { Parts } from '../parts.ts';
import { buildReport, type ContainerFigures, fittedReport } from '../report.ts';
import type { WorkerStatus } from '../status/status.ts';
import type { Device } from './device.ts';
import { secondsOf, wallTimeOf } from './time.ts';

/** Containers whose figures are asked for at once: each takes the engine a second. */
const STATS_AT_ONCE = 4;

/** Makes and sends reports. */
export class Reporter {
  readonly #parts: Parts;
  readonly #device: Device;
  readonly #status: () => WorkerStatus;
  readonly #machine = createMachine();
  #shown = '';
  #reported = '';

  constructor(parts: Parts, device: Device, status: () => WorkerStatus) {
    this.#parts = parts;
    this.#device = device;
    this.#status = status;
  }

  /** Notes a change if something differs that people want to know: not attempts, times and figures. */
  look(): void {
    const { apps, problems, applied } = this.#status();
    const shown = JSON.stringify([
      apps.map(({ error, ...app }) => [app, error?.code ?? null]),
      problems.map(({ code }) => code),
      applied,
    ]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#parts.outbox.noteChange(secondsOf(this.#parts));
  }

  /** When there is something to do, in seconds of the monotonic clock. */
  get nextAt(): number {
    if (this.#device.isRivalled) return Number.POSITIVE_INFINITY;
    return this.#parts.outbox.nextAt(secondsOf(this.#parts));
  }

  /** Makes the report that is due, and sends the newest. */
  async run(): Promise<void> {
    if (this.#device.isRivalled) return;
    const { outbox, link, stopping, random } = this.#parts;
    if (outbox.isDue(secondsOf(this.#parts))) await this.#put();
    const report = outbox.next(secondsOf(this.#parts));
    if (report === null) return;
    let result: SendResult = 'failed';
    try {
      result = await link.send(report, stopping);
    } finally {
      outbox.settle(result, secondsOf(this.#parts), random());
    }
    this.#logResult(result);
  }

  #logResult(result: SendResult): void {
    const { logger } = this.#parts;
    if (result === 'refused') logger.warn('the manager refuses a report of this device, which is dropped');
    else if (result === 'failed') logger.debug('a report could not be sent');
  }

  async #put(): Promise<void> {
    const { outbox } = this.#parts;
    const shown = this.#shown;
    outbox.put(await this.#make(), secondsOf(this.#parts));
    // The figures take seconds: what changed meanwhile is not in this report.
    if (this.#shown !== shown) outbox.noteChange(secondsOf(this.#parts));
  }

  async #make() {
    const status = this.#status();
    const ids = JSON.stringify(status.apps.map(({ name, running_id, image }) => [name, running_id, image]));
    const isUpdate = ids !== this.#reported;
    this.#reported = ids;
    const [machine, figures] = await Promise.all([
      this.#machine.read(this.#device.info?.root ?? '/'),
      this.#figures(),
    ]);
    const report = buildReport({ status, machine, figures, isUpdate, now: wallTimeOf(this.#parts) });
    const fitted = fittedReport(report);
    const cut = fitted.problems.find(({ code }) => code === 'report-cut');
    if (cut !== undefined) this.#parts.logger.warn(cut.text);
    return fitted;
  }

  async #figures(): Promise<Map<string, ContainerFigures>> {
    const figures = new Map<string, ContainerFigures>();
    const running = this.#device.actual?.containers.filter(({ state }) => state === 'running') ?? [];
    for (let index = 0; index < running.length; index += STATS_AT_ONCE) {
      const part = running.slice(index, index + STATS_AT_ONCE);
      await Promise.all(
        part.map(async ({ id }) => {
          const found = await this.#parts.engine.stats(id).catch(() => null);
          if (found !== null) figures.set(id, found);
        }),
      );
    }
    return figures;
  }
}
