/** The kinds of conditions that become incidents. */
export const INCIDENT_KINDS = ['pass', 'origin', 'store', 'ids', 'problem', 'revision', 'group'] as const;
export type IncidentKind = (typeof INCIDENT_KINDS)[number];

/** Something that is wrong and that people should hear of. Times are Unix milliseconds. */
export interface Incident {
  /** 12 random hex digits. */
  id: string;
  /** What is wrong, the same each time: `problem:app/web`. One incident of a key is open at a time. */
  key: string;
  kind: IncidentKind;
  since: number;
  /** When people were told that it began; null if they were not. */
  toldAt: number | null;
  /** When it ended; null while it lasts. */
  until: number | null;
  text: string;
  /** Keys of the objects that it concerns. */
  objects: string[];
  groups: string[];
}
