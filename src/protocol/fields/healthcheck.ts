import * as z from 'zod';
import { FreeText } from '../text.ts';
import { knownKeys } from './known-keys.ts';
import { Seconds } from './seconds.ts';

const TEST_RULE =
  'must be a command: text for a shell, or a list such as ["CMD", "curl", "-f", "http://localhost"] or ["CMD-SHELL", "curl -f http://localhost"]; ["NONE"] turns the check of the image off';
/** As in Compose, text is for a shell, which has no such command: the container would be unhealthy forever. */
const NONE_RULE = 'must be ["NONE"], as a list, to be no check';
const ShellText = FreeText.refine((text) => !['', 'NONE'].includes(text.trim()), {
  error: ({ input }) => (String(input).trim() === '' ? TEST_RULE : NONE_RULE),
});

const TestCommand = z
  .array(FreeText)
  .min(1, { error: TEST_RULE, abort: true })
  .refine(([kind, ...words]) => (kind === 'NONE' ? words.length === 0 : isCommand(kind, words)), {
    error: TEST_RULE,
  });

function isCommand(kind: string | undefined, words: readonly string[]): boolean {
  if (words.every((word) => word.trim() === '')) return false;
  return kind === 'CMD' || (kind === 'CMD-SHELL' && words.length === 1);
}

const shape = {
  test: z.union([ShellText, TestCommand], { error: TEST_RULE }).meta({
    id: 'HealthcheckTest',
    description: 'A command that ends with 0 if the container is well; ["NONE"] for no check.',
  }),
  interval: Seconds.optional().meta({
    description: "Seconds between two checks; if absent, those of the image's check, or 30.",
  }),
  timeout: Seconds.optional().meta({
    description: "Seconds that a check may take; if absent, those of the image's check, or 30.",
  }),
  retries: z
    .int({ error: 'must be a whole number of 1 or more' })
    .min(1, 'must be 1 or more')
    .max(1000, 'must be 1000 or less')
    .optional()
    .meta({
      description: "Failures in a row until it is unhealthy; if absent, those of the image's check, or 3.",
    }),
  start_period: Seconds.optional().meta({
    description: 'Seconds from the start in which failures do not count.',
  }),
};

/** A check of whether a container is well, instead of that of its image. */
export const Healthcheck = z
  .strictObject(shape, {
    error: knownKeys(Object.keys(shape)),
  })
  .meta({ id: 'Healthcheck' });
export type Healthcheck = z.infer<typeof Healthcheck>;
