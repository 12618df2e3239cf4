import * as z from 'zod';
import { FreeText, NUL, Text } from '../text.ts';
import { Seconds } from './seconds.ts';

const LIST_RULE = 'must be a list of the program and its arguments, such as ["node", "server.js"]';

/** A program and its arguments, as a list only: nobody has to know how a text would be cut into words. */
function words(description: string) {
  return z
    .array(FreeText, {
      error: ({ input }) => (typeof input === 'string' ? `${LIST_RULE}, not a string` : undefined),
    })
    .meta({ description });
}

const USER = new RegExp(`^[^:\\s${NUL}]+(?::[^:\\s${NUL}]+)?$`);
const NAMES =
  'HUP|INT|QUIT|ILL|TRAP|ABRT|IOT|BUS|FPE|KILL|USR1|SEGV|USR2|PIPE|ALRM|TERM|STKFLT|CHLD|CLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|POLL|PWR|SYS|RTMIN(?:\\+[1-9]|\\+1[0-5])?|RTMAX(?:-[1-9]|-1[0-4])?';
const SIGNAL = new RegExp(`^(?:(?:SIG)?(?:${NAMES})|[1-9]|[1-5]\\d|6[0-4])$`);

/** Fields that say what runs in a container, and how it ends. */
export const processFields = {
  command: words("Arguments instead of the image's command."),
  entrypoint: words("Program instead of the image's entrypoint."),
  user: Text.regex(USER, 'must be "user" or "user:group", each a name or a number').meta({
    description: 'User, or user:group, that runs the program.',
  }),
  working_dir: Text.regex(new RegExp(`^/[^${NUL}]*$`), 'must be an absolute path in the container').meta({
    description: 'Folder in which the program starts.',
  }),
  init: z.boolean().meta({ description: 'Whether an init process forwards signals and reaps processes.' }),
  stop_signal: z
    .string({
      error: ({ input }) => (typeof input === 'number' ? 'must be a string; write it in quotes' : undefined),
    })
    .regex(SIGNAL, 'must be a signal such as SIGTERM or SIGINT')
    .meta({ description: 'Signal that asks the program to end.' }),
  stop_grace_period: Seconds.meta({
    description: 'Seconds that the program has to end before it is killed.',
  }),
};
