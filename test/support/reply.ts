/** A reply whose body was read completely. */
export interface Reply<H = Headers> {
  status: number;
  headers: H;
  text: string;
  /** The parsed body; undefined if it is not JSON. */
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
