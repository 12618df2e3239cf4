import { EngineError, type EngineErrorCode } from './engine.ts';

/** What engines say, and what it means. The first row that fits counts. A row without a status fits any. */
const MEANINGS: readonly { code: EngineErrorCode; status?: number; text?: RegExp }[] = [
  { code: 'no-space', text: /no space left on device|disk quota exceeded/i },
  // Docker Hub's answer for an image that does not exist, and for one that others may see; its status is 404.
  { code: 'image-missing', text: /repository does not exist or may require/i },
  { code: 'unauthorized', text: /\bunauthorized\b|authentication required|no basic auth credentials/i },
  {
    code: 'unauthorized',
    text: /\baccess( to the resource is|:)? (denied|forbidden)|incorrect username or password/i,
  },
  { code: 'unauthorized', text: /: denied(:|$)|invalid username\/password/i },
  { code: 'image-missing', text: /manifest unknown|manifest for \S+ not found|name unknown/i },
  { code: 'image-missing', text: /no such image|not found: does not exist/i },
  { code: 'network-missing', text: /network \S+ not found|network \S+ is ambiguous/i },
  { code: 'port-taken', text: /port is already allocated|address already in use/i },
  {
    code: 'out-of-order',
    text: /(could not find|failed to find|no such) .{0,40}bridge|no such network interface/i,
  },
  { code: 'out-of-order', text: /address pools? |no available IPv[46] address|failed to create endpoint/i },
  { code: 'out-of-order', text: /\bdial unix\b|transport is closing/i },
  { code: 'name-taken', text: /container name \S+ (is )?already in use/i },
  // What containerd says when it has a task, or a container, that dockerd does not know of. Docker 20.10 stays like that.
  { code: 'stuck', text: /\btask \S+ already exists|^id already in use/i },
  { code: 'absent', status: 404 },
];

/** Characters that are shown. A registry's whole page of HTML can stand in a message. */
const LONGEST = 500;
/** Characters that patterns meet: a registry may write millions, and time grows with their square. */
const LONGEST_READ = 4096;
/** Characters in which secrets are looked for. */
const LONGEST_SEARCHED = 65_536;
/** Characters. Replacing shorter values would make a message unreadable and tell what they are by their places. */
const SHORTEST_SECRET = 4;

/** Returns what an answer of an engine means, by its status and, where only the text tells, by its text. */
export function codeOf(status: number, text: string): EngineErrorCode {
  const fits = (row: (typeof MEANINGS)[number]): boolean =>
    (row.status === undefined || row.status === status) && (row.text === undefined || row.text.test(text));
  return MEANINGS.find(fits)?.code ?? 'refused';
}

/** Returns the error for an answer that says that a call failed. `secrets` are cut out of its text. */
export function refusal(
  call: string,
  status: number,
  text: string,
  secrets: readonly string[] = [],
): EngineError {
  const readable = redact(text.slice(0, LONGEST_SEARCHED), secrets).slice(0, LONGEST_READ);
  const said = tidy(readable);
  const code = codeOf(status, readable);
  if (code === 'port-taken') return new EngineError(code, portText(readable));
  return new EngineError(code, said === '' ? `${withShortIds(call)}: the engine answered ${status}` : said);
}

/** Says who has a port, in words for people: engines bury that in the path through their own parts. */
function portText(text: string): string {
  const [, port] = /:(\d{1,5})(?:: bind| failed)/.exec(text) ?? [];
  const what = port === undefined ? 'a port of the app' : `port ${port}`;
  return /already allocated/i.test(text)
    ? `another container of this device has ${what}`
    : `a program of this device that is no container of this engine has ${what}; ss -ltnup shows which`;
}

/** Returns a text in which ids of 64 digits have 12, as `docker ps` shows them. */
export function withShortIds(text: string): string {
  return text.replace(/(?<![0-9a-f])([0-9a-f]{12})[0-9a-f]{52}(?![0-9a-f])/g, '$1');
}

function redact(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .reduce((said, secret) => said.replaceAll(secret, '***'), text);
}

function tidy(text: string): string {
  const line = withShortIds(text.replace(/\s+/g, ' ').trim());
  return line.length > LONGEST ? `${line.slice(0, LONGEST)} …` : line;
}
