import * as z from 'zod';
import { lastTag, parsePollTag } from '../protocol/poll.ts';
import type { Report } from '../protocol/report.ts';
import type { FailedApp, Word } from '../store/devices/slot.ts';

/** What a report says of its device. */
export interface ReportFacts {
  group: string;
  /** The version of the worker; null if the report is not of a worker that says so. */
  worker: string | null;
  word: Word | null;
  failed: FailedApp[];
  /** Equal in reports that have the same apps in the same states, ids and problems. */
  digest: string;
}

/** Of many failing apps, these many are kept, with so many characters of each error. */
const MOST_FAILED = 20;
const ERROR_LENGTH = 300;

/** The states of an app in which it does not do what the manager wants, and will not without a change. */
const FAILING: ReadonlySet<string> = new Set(['failing', 'failed', 'rolled_back', 'kept']);
/** Problems of a whole device without which none of its apps can do what the manager wants. */
const DISABLING: ReadonlySet<string> = new Set(['engine-unavailable', 'group-gone', 'disk-pressure']);

/** Reports are kept as they were sent, so each member is read by itself, and one that is not understood is passed over. */
const Trouble = z.union([
  z.string().transform((text) => ({ code: text, text })),
  z
    .looseObject({ code: z.string().optional(), text: z.string().optional() })
    .transform(({ code, text }) => ({ code: code ?? '', text: text ?? code ?? 'failed' })),
]);
const ReportedApp = z.looseObject({
  name: z.string(),
  wanted_id: z.int().optional().catch(undefined),
  running_id: z.int().nullish().catch(undefined),
  state: z.string().optional().catch(undefined),
  error: Trouble.nullish().catch(undefined),
});
const Facts = z.looseObject({
  worker: z
    .looseObject({ version: z.string().max(100) })
    .optional()
    .catch(undefined),
  applied: z.string().max(200).nullish().catch(undefined),
  apps: z.array(z.unknown()).catch([]),
  ids: z.unknown().optional(),
  problems: z.array(z.unknown()).catch([]),
});

/** Reads what a report says of its device. */
export function factsOf(report: Report): ReportFacts {
  const { worker, applied, apps: items, ids, problems: troubles } = Facts.parse(report);
  const apps = items.flatMap((item) => ReportedApp.safeParse(item).data ?? []);
  const problems = troubles.flatMap((item) => Trouble.safeParse(item).data ?? []);
  const failed = [
    ...problems.filter(({ code }) => DISABLING.has(code)).map(({ text }) => failedApp(null, text)),
    ...apps.filter(fails).map(({ name, state, error }) => failedApp(name, error?.text ?? state ?? 'failed')),
  ];
  const states = apps.map(({ name, wanted_id, running_id, state, error }) => [
    name,
    wanted_id,
    running_id,
    state,
    error?.code,
  ]);
  return {
    group: report.device_group,
    worker: worker?.version ?? null,
    word: applied == null ? null : parsePollTag(lastTag(applied)),
    failed: failed.slice(0, MOST_FAILED),
    digest: JSON.stringify([states, ids, problems.map(({ code }) => code)]),
  };
}

/** An error beside a container that runs is a warning, such as an image that could not be refreshed. */
function fails({ state, error }: z.infer<typeof ReportedApp>): boolean {
  return FAILING.has(state ?? '') || (error != null && state !== 'running');
}

function failedApp(app: string | null, text: string): FailedApp {
  return { app: app?.slice(0, ERROR_LENGTH) ?? null, error: text.slice(0, ERROR_LENGTH) };
}
