// When a request is sent again. No I/O: the driver waits, signs and sends.
import { UnknownOutcome, verdict, VenueError } from "./errors.js";

/** How a request is repeated after an attempt that may have been executed. */
export type Repeat =
  | "any" // it has no effect
  | "client_order_id" // the venue executes it once, also with a new signature
  | "bytes" // the venue executes the same signed bytes once, and a restart does no harm
  | "never";

/** Requests whose exact repeat has no second effect (docs/rules/accounts.md#exact-repeats), also after a restart of the venue. */
const exact = /^(DELETE \/|PUT \/|POST \/v1\/(portfolio\/deadman|forecasts|withdrawals)$)/;
const read = /^(GET \/|POST \/v1\/portfolio\/orders\/preview$)/;

export const repeatOf = (method: string, target: string): Repeat => (read.test(`${method} ${target}`) ? "any" : exact.test(`${method} ${target}`) ? "bytes" : "never");

/** A signature is valid for 5 s. The same signed bytes are sent again for this many milliseconds. */
export const sameBytes = 4000;
const firstWait = 50;
const longestWait = 2000;

/** Waits that double from 50 ms to 2 s, each times a random half to one, so that clients do not repeat at one moment. */
export class Backoff {
  #next = firstWait;
  constructor(readonly random: () => number) {}

  next(): number {
    const wait = this.#next * (0.5 + this.random() / 2);
    this.#next = Math.min(2 * this.#next, longestWait);
    return wait;
  }

  reset(): void {
    this.#next = firstWait;
  }
}

/** The next attempt: wait, then send, with a new signature or with the bytes of the attempt before. */
export interface Attempt {
  wait: number;
  fresh: boolean;
}

/** What an attempt got. Times are in milliseconds of one clock that only rises. */
export interface Answer {
  at: number;
  signed: number;
  body?: unknown;
  error?: unknown;
  /** The error is a 401, and why a new signature may be accepted: the request was long on its way, or the clock was wrong. */
  mend?: "late" | "clock" | undefined;
}

/** An earlier attempt of this request was executed: the order with its client_order_id says how. */
export class Executed extends UnknownOutcome {
  constructor(
    readonly status: number,
    ...rest: ConstructorParameters<typeof Error>
  ) {
    super(...rest);
  }
}

/**
 * Yields attempts and takes what each got. Returns the body, or throws the error of the request: that of the last
 * attempt, or UnknownOutcome if one may have been executed and no later one says what it did.
 */
export function* attempts(request: string, repeat: Repeat, end: number, random: () => number): Generator<Attempt, unknown, Answer> {
  const backoff = new Backoff(random);
  let lost: unknown; // the error of the first attempt that may have been executed
  const mended = new Set<string>(); // each once
  let next: Attempt = { wait: 0, fresh: true };
  for (;;) {
    const { at, signed, body, error, ...answer } = yield next;
    if (error === undefined) return body;
    const says = verdict(error);
    if (says === "final" && error instanceof VenueError) {
      if (answer.mend && !mended.has(answer.mend) && (lost === undefined || repeat !== "bytes")) {
        mended.add(answer.mend);
        next = { wait: 0, fresh: true };
        continue;
      }
      if (lost === undefined) throw error;
      // Only the core knows what became of the lost attempt.
      if (error.origin !== "core") throw new UnknownOutcome(`${request}: no response`, { cause: lost });
      if (error.code === "duplicate_client_order_id" && repeat === "client_order_id") throw new Executed(error.status, `${request}: an attempt without a response was executed`, { cause: lost });
      if (error.code === "unknown_order" && repeat === "bytes") throw new UnknownOutcome(`${request}: no first response, and the order is not open now`, { cause: error });
      throw error;
    }
    if (says === "unknown" && repeat !== "any") lost ??= error;
    const fresh = lost === undefined || repeat !== "bytes";
    const wait = (error instanceof VenueError ? error.retryAfter : undefined) ?? backoff.next();
    const until = fresh ? end : Math.min(end, signed + sameBytes);
    if (at + wait > until || (lost !== undefined && repeat === "never")) {
      throw lost === undefined ? error : new UnknownOutcome(`${request}: no response`, { cause: lost });
    }
    next = { wait, fresh };
  }
}
