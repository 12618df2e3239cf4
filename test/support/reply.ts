/** A reply, read to its end. */
export interface Reply<H = Headers> {
  status: number;
  headers: H;
  text: string;
  /** The body as JSON; undefined where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of any shape
  body: any;
}

export function replyOf<H>(status: number, headers: H, text: string): Reply<H> {
  return { status, headers, text, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
