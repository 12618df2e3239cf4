import type { InfoReply } from '../link/info-reply.ts';
import { checkedBody } from '../link/info-reply.ts';
import type { PollResult, PollTrouble } from '../link/link.ts';
import { firstPollDelay, pollDelay } from '../link/pace.ts';
import type { Parts } from '../parts.ts';
import { senderOf } from '../plan/wanted/sender.ts';
import { refuse } from '../plan/wanted/wanted.ts';
import type { ManagerStatus } from '../status/status.ts';
import type { Device } from './device.ts';
import type { Problems } from './problems.ts';
import { secondsOf, wallTimeOf } from './time.ts';

/** Intervals without a sensible answer after which people should look. */
const LOST_INTERVALS = 3;
/** Intervals between two answers that the device group is gone, before it is believed. */
const GONE_INTERVALS = 2;
/** Seconds after which ids that stay behind are more than an old cache. */
const LOST_IDS_AFTER = 3600;

/** Polls the manager and hands the replies that can be believed to the device. */
export class Poller {
  readonly #parts: Parts;
  readonly #device: Device;
  readonly #problems: Problems;
  #failures = 0;
  /** When the first of these failures was. */
  #failingSince: number | null = null;
  #goneSince: number | null = null;
  #behindSince: number | null = null;
  #nextAt: number;
  #lastGood: number | null = null;
  #error: string | null = null;

  constructor(parts: Parts, device: Device, problems: Problems) {
    this.#parts = parts;
    this.#device = device;
    this.#problems = problems;
    const interval = parts.config.ORCHESTRATOR_MANAGER_CHECK_IN_TIME;
    this.#nextAt = secondsOf(parts) + firstPollDelay({ interval, random: parts.random() });
  }

  /** When the next poll is due, by the monotonic clock in seconds. */
  get nextAt(): number {
    return this.#nextAt;
  }

  status(): ManagerStatus {
    const wait = Math.max(0, this.#nextAt - secondsOf(this.#parts));
    return {
      address: this.#parts.config.MANAGER,
      last_good_poll: this.#lastGood,
      error: this.#error,
      next_poll: Math.round(wallTimeOf(this.#parts) + wait),
      is_lost: this.#isLost(),
    };
  }

  #isLost(): boolean {
    const { HEALTH_NEEDS_MANAGER, ORCHESTRATOR_MANAGER_CHECK_IN_TIME: interval } = this.#parts.config;
    if (!HEALTH_NEEDS_MANAGER || this.#failingSince === null) return false;
    return secondsOf(this.#parts) - this.#failingSince >= LOST_INTERVALS * interval;
  }

  /** Takes up what the manager said last, as it was kept over a restart. */
  resume(): void {
    const { reply, rival } = this.#device.memory;
    if (rival !== undefined) this.#problems.show('two-workers', this.#rivalText(rival));
    const body = reply === null ? null : checkedBody(reply.body);
    if (body === null) return;
    if ('problem' in body) this.#device.remember({ reply: null, done: null });
    else this.#device.accept(body, {});
  }

  /** Polls once. Resolves to whether the manager answered with something that can be believed. */
  async poll(): Promise<boolean> {
    const { memory } = this.#device;
    const newest = memory.reply?.etag ?? null;
    const tags = { newest: newest === '' ? null : newest, done: memory.done };
    let isGood = false;
    let retryAfter: number | null = null;
    try {
      const isNamed = await this.#learnName();
      const result = await this.#parts.link.poll(tags, this.#parts.stopping);
      if (result.kind === 'trouble') retryAfter = result.retryAfter;
      await this.#hearRival(result);
      // The manager cannot say of a device without a name that another worker holds it.
      isGood = this.#take(isNamed || result.kind !== 'new' ? result : { kind: 'unchanged' });
    } finally {
      this.#failures = isGood ? 0 : this.#failures + 1;
      this.#failingSince = isGood ? null : (this.#failingSince ?? secondsOf(this.#parts));
      this.#device.counts[isGood ? 'goodPolls' : 'failedPolls'] += 1;
      this.#nextAt = secondsOf(this.#parts) + this.#delay(retryAfter);
    }
    return isGood;
  }

  #delay(retryAfter: number | null): number {
    const interval = this.#parts.config.ORCHESTRATOR_MANAGER_CHECK_IN_TIME;
    return pollDelay({ interval, failures: this.#failures, retryAfter, random: this.#parts.random() });
  }

  #take(result: PollResult): boolean {
    if (result.kind === 'trouble') return this.#noteTrouble(result);
    if (result.kind === 'two-workers') return true;
    if (result.kind === 'group-gone') return this.#noteGone();
    this.#goneSince = null;
    this.#problems.clear('group-gone');
    if (result.kind === 'new' && !this.#accept(result.reply)) return false;
    if (this.#problems.clear('manager-unavailable', 'bad-reply'))
      this.#parts.logger.info('the manager answers again');
    this.#behindSince = null;
    this.#problems.clear('ids-behind');
    this.#lastGood = wallTimeOf(this.#parts);
    this.#error = null;
    return true;
  }

  /** Resolves to whether it is known what this device is called, or that the engine has no name that can be used. */
  async #learnName(): Promise<boolean> {
    if (this.#parts.identity.name === null) await this.#device.connect().catch(() => undefined);
    return this.#parts.identity.name !== null || this.#device.info !== null;
  }

  /** Only an answer with orders, or none, says that nobody else holds the name. */
  async #hearRival(result: PollResult): Promise<void> {
    if (result.kind === 'two-workers') await this.#noteRival(result.rival);
    else if (result.kind === 'unchanged' || result.kind === 'new') await this.#endRivalry();
  }

  async #noteRival(rival: string): Promise<void> {
    const text = this.#rivalText(rival);
    this.#error = text;
    this.#problems.clear('manager-unavailable', 'bad-reply');
    if (this.#problems.show('two-workers', text)) this.#parts.logger.error(text);
    await this.#device.setRival(rival);
  }

  #rivalText(rival: string): string {
    const { name, instance } = this.#parts.identity;
    return `another worker (instance ${rival}) polls as "${name}"; this one (instance ${instance}) does nothing`;
  }

  async #endRivalry(): Promise<void> {
    if (this.#problems.clear('two-workers'))
      this.#parts.logger.info('no other worker polls as this one any more');
    await this.#device.setRival(undefined);
  }

  #accept(reply: InfoReply): boolean {
    const { memory } = this.#device;
    const { config } = this.#parts;
    const { source, named, isSame } = senderOf(reply.fleet, config.MANAGER, config.DEVICE_GROUP, memory);
    const refusal = refuse(reply, isSame ? memory.groupId : null, this.#device.listed);
    if (refusal !== null && refusal.code === 'ids-behind') return this.#noteBehind(refusal.text);
    if (refusal !== null)
      return this.#noteTrouble({ kind: 'trouble', code: 'bad-reply', text: refusal.text, retryAfter: null });
    const { body, etag, revision, groupId } = reply;
    const isNew = memory.reply?.etag !== etag;
    this.#device.accept(reply, {
      reply: { source, etag, revision, body },
      named,
      ...(isSame ? { groupId } : {}),
      ...(isNew && !isSame ? { done: null } : {}),
    });
    this.#noteUnknown(reply.unknownFields);
    if (isNew)
      this.#parts.logger.info({ revision, etag, apps: reply.apps.length }, 'the manager wants something new');
    return true;
  }

  #noteTrouble({ code, text }: PollTrouble): false {
    this.#error = text;
    if (this.#problems.note(code, text))
      this.#parts.logger.warn(
        { code, reason: text },
        'the manager gives no usable answer; apps go on running as they are',
      );
    return false;
  }

  /** Ids fall for a while if another manager of the fleet still has an old reply in its cache. */
  #noteBehind(text: string): false {
    const now = secondsOf(this.#parts);
    this.#behindSince ??= now;
    const isLost = now - this.#behindSince >= LOST_IDS_AFTER;
    const advice = isLost ? '; the manager seems to have lost its ids: holdfast worker forget-ids' : '';
    this.#error = `${text}${advice}`;
    if (this.#problems.show('ids-behind', this.#error))
      this.#parts.logger.warn({ reason: this.#error }, 'ids are behind');
    return false;
  }

  #noteUnknown(fields: readonly string[]): void {
    if (fields.length === 0) this.#problems.clear('unknown-fields');
    else if (this.#problems.show('unknown-fields', `this worker does not know ${fields.join(', ')}`))
      this.#parts.logger.warn({ fields }, 'the manager sends fields that this worker does not know');
  }

  /** The group counts as gone after two such answers some time apart; then its apps stop, unless ON_GROUP_GONE is keep. */
  #noteGone(): boolean {
    const { config, logger } = this.#parts;
    const now = secondsOf(this.#parts);
    this.#goneSince ??= now;
    const isSure = now - this.#goneSince >= GONE_INTERVALS * config.ORCHESTRATOR_MANAGER_CHECK_IN_TIME;
    const consequence =
      config.ON_GROUP_GONE === 'keep' ? 'its apps go on running' : isSure ? 'its apps stop' : 'asking again';
    const text = `the manager has no device group "${config.DEVICE_GROUP}"; ${consequence}`;
    this.#error = text;
    if (this.#problems.show('group-gone', text)) logger.warn(text);
    if (isSure && config.ON_GROUP_GONE === 'stop') this.#stopAll();
    return true;
  }

  #stopAll(): void {
    const { memory } = this.#device;
    const body = {
      prune_id: memory.pruneId ?? 1,
      apps_list: [],
      apps: [],
      device_group_id: memory.groupId ?? 1,
    };
    const checked = checkedBody(body);
    if ('problem' in checked) return;
    const source = memory.source ?? '';
    this.#device.accept(checked, {
      reply: { source, etag: '', revision: null, body },
      groupId: null,
      done: null,
    });
  }
}
