import * as z from 'zod';
import { ObjectId } from './info.ts';
import { Report, WorkerReport } from './report.ts';

/** What devices send. A manager checks only what every report has. */
const SentReport = z.union([WorkerReport, Report.meta({ id: 'Report' })]).meta({ id: 'SentReport' });
export const SentReports = z.union([SentReport, z.array(SentReport)]).meta({ id: 'Reports' });
/** A report as a manager keeps it. */
const ReportRecord = z
  .looseObject({
    _id: ObjectId,
    ...Report.shape,
    received_at: z.iso.datetime().describe('When it arrived, by the clock of the manager.'),
  })
  .meta({
    id: 'StoredReport',
    description: "All other members are as they were sent; WorkerReport has those of Holdfast's worker.",
  });
/** A page of reports, in order of arrival. */
export const ReportPageRecord = z
  .object({ data: z.array(ReportRecord), last_id: ObjectId.nullable() })
  .meta({ id: 'ReportPage' });

/** What a manager did with the reports that it got. */
export const AcceptedReports = z
  .object({ accepted: z.int().describe('How many reports were stored.') })
  .meta({ id: 'AcceptedReports' });
