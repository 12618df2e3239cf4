import { type Counts, noCounts } from '../metrics/exposition.ts';
import type { Parts } from '../parts.ts';
import { type Knowledge, learn, type StepResult } from '../plan/learn.ts';
import type { Actual, Step } from '../plan/model.ts';
import type { Job, Plan } from '../plan/plan.ts';
import { execute } from './execute.ts';
import { Pulls } from './pulls.ts';
import { secondsOf, wallTimeOf } from './time.ts';

/** The apps whose containers are being changed, and those whose image is being pulled. */
export interface UnderWay {
  busy: ReadonlySet<string>;
  pulling: ReadonlySet<string>;
}

/** What the runner asks of its device. */
interface Owner {
  actual(): Actual | null;
  /** Called after each step from which something was learned. */
  onLearned(): Promise<void>;
  /** Called when a job or a pull is over. */
  onEnd(): void;
}

const NEVER = new AbortController().signal;

/** Carries out steps: those of different apps side by side, so that one that hangs holds up no other. */
export class Runner {
  readonly counts: Counts = noCounts();
  readonly #parts: Parts;
  readonly #known: Knowledge;
  readonly #owner: Owner;
  readonly #busy = new Set<string>();
  readonly #pulls = new Pulls();
  readonly #running = new Set<Promise<void>>();

  constructor(parts: Parts, known: Knowledge, owner: Owner) {
    this.#parts = parts;
    this.#known = known;
    this.#owner = owner;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  underWay(): UnderWay {
    return { busy: new Set(this.#busy), pulling: this.#pulls.apps() };
  }

  /** Begins the steps of a plan. Pulls for which there is no room are planned again later. */
  begin({ jobs, pulls }: Plan): void {
    for (const job of jobs) this.track(this.#runJob(job));
    for (const pull of pulls) {
      if (!this.#pulls.hasRoom(secondsOf(this.#parts))) break;
      this.track(this.#runPull(pull));
    }
  }

  /** Waits for more work, such as a prune, before the device counts as idle. */
  track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => {
      this.#running.delete(work);
      this.#owner.onEnd();
    });
  }

  /** Cancels the pulls for ids that are not wanted any more; all of them by default. */
  cancelPulls(isWanted: (app: string, id: number) => boolean = () => false): void {
    this.#pulls.cancelOthers(isWanted);
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #runJob({ apps, steps }: Job): Promise<void> {
    for (const app of apps) this.#busy.add(app);
    await Promise.all(steps.map((step) => this.#run(step, NEVER)));
    for (const app of apps) this.#busy.delete(app);
  }

  async #runPull(pull: Extract<Step, { do: 'pull' }>): Promise<void> {
    const signal = this.#pulls.begin(pull, secondsOf(this.#parts));
    await this.#run(pull, signal);
    this.#pulls.end(pull.app);
  }

  async #run(step: Step, signal: AbortSignal): Promise<void> {
    const { engine, faults, random } = this.#parts;
    faults.pass('worker-step-begins');
    const result = await execute(engine, step, signal);
    faults.pass('worker-step-done');
    this.#log(result);
    this.#count(result);
    const actual = this.#owner.actual();
    const isOutage = !result.ok && result.isOutage === true;
    if (signal.aborted || isOutage || actual === null) return;
    const moment = { now: secondsOf(this.#parts), wallTime: wallTimeOf(this.#parts), random: random() };
    Object.assign(this.#known, learn(this.#known, result, actual, moment));
    await this.#owner.onLearned();
  }

  #count({ ok, step }: StepResult): void {
    const { counts } = this;
    if (step.do === 'pull' && ok) counts.pulls += 1;
    else if (step.do === 'pull') counts.failedPulls += 1;
    else if (step.do === 'start' && ok) counts.starts += 1;
    else if (step.do === 'restart' && ok) counts.restarts += 1;
  }

  #log(result: StepResult): void {
    const { do: kind, app, ...rest } = result.step;
    const { record: _, labels: __, container: ___, ...facts } = rest as Record<string, unknown>;
    const { logger } = this.#parts;
    if (result.ok) logger.info({ app, ...facts }, kind);
    else logger.warn({ app, ...facts, code: result.code, reason: result.text }, `${kind} failed`);
  }
}
