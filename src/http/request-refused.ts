import { HoldfastError } from '../errors.ts';

/** A request is refused by a rule of HTTP or of this API, whatever the state of the fleet is. */
export class RequestRefused extends HoldfastError<'invalid'> {
  readonly status: number;
  readonly body: Record<string, unknown>;

  /** `body` is the whole body of the reply; by default it only has the message, as `error`. */
  constructor(status: number, message: string, body: Record<string, unknown> = { error: message }) {
    super('invalid', message);
    this.status = status;
    this.body = body;
  }
}
