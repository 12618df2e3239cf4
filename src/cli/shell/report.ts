import { styleText } from 'node:util';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import type { Problem } from '../../desired/problem.ts';
import { describeStep, type PlanLine } from '../../plan/describe.ts';
import type { Effect } from '../../plan/effect.ts';
import { lostGroups, totalsOf } from '../../plan/notices.ts';
import { changeTypeOf, type Step } from '../../plan/step.ts';
import { escapeWorkflowCommands, printable } from '../../text/printable.ts';

export const FORMATS = ['text', 'json', 'github'] as const;
export type Format = (typeof FORMATS)[number];

/** A problem as reports show it: of a desired state, or of another file. */
export interface Shown extends Omit<Problem, 'code'> {
  code: string;
}

/** What devices will do, and how many of them, if a manager was asked. */
export interface CountedEffect extends Effect {
  devices?: number | null;
  /** How many of these are silent. */
  silent?: number;
}

/** The results of `validate`, `plan` or `import`. */
export interface Findings {
  problems: readonly Problem[];
  steps: readonly Step[];
  effects: readonly CountedEffect[];
  /** A sentence for each device that moves to another group. */
  moves: readonly string[];
  /** The last line of the text. */
  summary: string;
}

/** Renders findings as text, as JSON, or as text with the annotations of a GitHub workflow. */
export function renderFindings(findings: Findings, format: Format, hasColors: boolean): string {
  if (format === 'json') return `${findingsJson(findings)}\n`;
  if (format === 'github')
    return findings.problems.map(annotation).join('') + textOf({ ...findings, problems: [] }, false);
  return textOf(findings, hasColors);
}

/** Returns findings as JSON, with more members if there are any. */
export function findingsJson(findings: Findings, more: Readonly<Record<string, unknown>> = {}): string {
  return escapeWorkflowCommands(JSON.stringify({ ...jsonOf(findings), ...more }, null, 2));
}

function jsonOf({ problems, steps, effects }: Findings): object {
  return {
    problems,
    steps: steps.map((step) => ({
      operation: changeTypeOf(step),
      kind: step.kind,
      name: step.name,
      file: step.origin?.path ?? null,
      before: step.before,
      after: step.after,
    })),
    effects,
  };
}

/** Returns a workflow command of GitHub; characters that would end a property or the line are escaped. */
export function annotation({ severity, file, line, column, code, message }: Shown): string {
  const data = (text: string): string => text.replace(/[%\r\n]/g, (char) => `%${hex(char)}`);
  const property = (text: string): string => data(text).replace(/[:,]/g, (char) => `%${hex(char)}`);
  return `::${severity} file=${property(file)},line=${line},col=${column},title=${property(code)}::${data(message)}\n`;
}

function hex(char: string): string {
  return char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
}

/** What has more steps or effects begins with a line of totals. */
const MOST_WITHOUT_TOTALS = 10;

type Color = 'red' | 'green' | 'yellow' | 'bold' | 'dim';

function textOf({ problems, steps, effects, moves, summary }: Findings, hasColors: boolean): string {
  const paint = painter(hasColors);
  const lines = [
    ...totalsLines(steps, effects, paint),
    ...problems.map((problem) => problemLine(problem, paint)),
    ...steps.flatMap((step) => stepLines(step, paint)),
    ...effectLines('What devices will do:', effects, paint),
    ...moves.map((move) => `~ ${printable(move)}`),
    ...lostGroups(steps).map((text) => paint('red', paint('bold', `! ${text}`))),
    summary,
  ];
  return `${lines.join('\n')}\n`;
}

/** Colours a text, or returns it as it is. */
export type Paint = (color: Color, text: string) => string;

export function painter(hasColors: boolean): Paint {
  return (color, text) => (hasColors ? styleText(color, text, { validateStream: false }) : text);
}

/** Returns the line of a problem, which begins with its place. */
function problemLine({ file, line, column, severity, code, message }: Shown, paint: Paint): string {
  const label = severity === 'error' ? paint('red', 'error') : paint('yellow', 'warning');
  return `${paint('bold', `${printable(file)}:${line}:${column}`)}: ${label}: ${printable(message)} ${paint('dim', `[${code}]`)}`;
}

const HEADINGS = { create: ['+', 'green'], update: ['~', 'yellow'], delete: ['-', 'red'] } as const;

/** Returns the first lines of a plan or a commit with many steps or effects. */
export function totalsLines(steps: readonly Step[], effects: readonly Effect[], paint: Paint): string[] {
  return Math.max(steps.length, effects.length) > MOST_WITHOUT_TOTALS
    ? [paint('bold', `${totalsOf(effects)}.`), '']
    : [];
}

/** Returns the lines of a step, with an empty one at the end. */
export function stepLines(step: Step, paint: Paint): string[] {
  const [sign, color] = HEADINGS[changeTypeOf(step)];
  const file = step.origin === null ? '' : paint('dim', `  (${printable(step.origin.path)})`);
  return [
    paint(color, `${sign} ${DESCRIPTORS[step.kind].noun} ${step.name}`) + file,
    ...describeStep(step).map((line) => paintLine(line, paint)),
    '',
  ];
}

function paintLine({ sign, indent, text }: PlanLine, paint: Paint): string {
  const line = `${sign} ${'  '.repeat(indent)}${printable(text)}`;
  if (sign === ' ') return line;
  return paint(sign === '+' ? 'green' : 'red', line);
}

/** Returns what devices do, with an empty line at the end; nothing if they do nothing. */
export function effectLines(title: string, effects: readonly CountedEffect[], paint: Paint): string[] {
  if (effects.length === 0) return [];
  const rows = effects.map((effect) => {
    const devices = devicesText(effect);
    const { app, action, groups } = effect;
    return `  ${paint('bold', app)} ${action}s on ${groups.join(', ')}${devices === null ? '' : `: ${devices}`}`;
  });
  return [title, ...rows, ''];
}

/** `6,212 devices (24 silent)`; null if they are not known. */
export function devicesText({ devices, silent = 0 }: CountedEffect): string | null {
  if (devices == null) return null;
  const text = `${devices.toLocaleString('en')} device${devices === 1 ? '' : 's'}`;
  return silent === 0 ? text : `${text} (${silent.toLocaleString('en')} silent)`;
}
