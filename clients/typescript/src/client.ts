// Signed REST requests and their repeats, with the web platform only.
import type { components } from "./api.js";

type Schemas = components["schemas"];

/** The request was not executed, so a new request with a new signature is safe (docs/rules/errors.md#retry-safe). */
export const safe: ReadonlySet<string> = new Set(["rate_limited", "too_many_connections", "shed", "draining", "node_behind", "history_behind", "funding_unavailable"]);
/** The request may have been executed (docs/rules/errors.md#retry-unknown). */
export const unknown: ReadonlySet<string> = new Set(["sequencing_timeout", "internal"]);
/** A signature is valid for 5 s. The same signed bytes are sent again for this many milliseconds. */
const sameBytes = 4000;
/**
 * Writes whose exact repeat has no second effect (docs/rules/accounts.md#exact-repeats) and does no harm after a
 * restart, over which the venue forgets its first responses, as that of a decrease and a redemption would.
 */
const repeatable = /^(DELETE \/|POST \/v1\/(portfolio\/deadman|forecasts|withdrawals)$)/;
/** Requests without an effect. */
const read = /^(GET \/|POST \/v1\/portfolio\/orders\/preview$)/;

/** A response of the venue other than 2xx. */
export class VenueError extends Error {
  readonly code: string;
  readonly origin: string;
  readonly details: Record<string, string>;
  constructor(
    readonly status: number,
    error: { code: string; origin: string; details: Record<string, string> | null },
  ) {
    super(`${error.code} (${status})`);
    this.code = error.code;
    this.origin = error.origin;
    this.details = error.details ?? {};
  }
}

/** A write got no response: it may have been executed. Read the state before you repeat it. */
export class UnknownOutcome extends Error {}

export const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

const text = new TextEncoder();

/** Returns the signature in base64. secret is 64 hex characters; target is path and query as sent. */
export async function sign(secret: string, timestamp: string, method: string, target: string, body = ""): Promise<string> {
  const bytes = Uint8Array.from(secret.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, text.encode(`${timestamp}\n${method}\n${target}\n${body}`));
  return btoa(String.fromCharCode(...new Uint8Array(mac)));
}

/** DX_TIMEOUT in milliseconds, where there is an environment: an arena sets it for its agents. Otherwise 15 s. */
function defaultTimeout(): number {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const seconds = Number(process?.env?.["DX_TIMEOUT"]);
  return seconds > 0 && Number.isFinite(seconds) ? seconds * 1000 : 15_000;
}

/** Sends requests to a venue. tries bounds the attempts of one call; timeout is in milliseconds, for each attempt. */
export class Client {
  readonly url: string; // without a slash at its end

  constructor(
    url: string,
    readonly key: string,
    readonly secret: string,
    readonly tries = 8,
    readonly timeout = defaultTimeout(),
  ) {
    this.url = url.replace(/\/+$/, "");
  }

  /**
   * Sends one request and returns the body of its response. A read, and a request that the venue did
   * not execute, is signed again and repeated. A cancel, forecast, withdrawal or dead-man switch
   * without a response is repeated with the same signed bytes while they are valid. The venue then
   * returns the first response, with two exceptions. A repeated cancel of one order that finds no open
   * order throws UnknownOutcome, because the order may have been canceled by the first request or have
   * ended before it. In the response to a repeated batch of cancels, each such order has unknown_order.
   * Other writes without a response are not repeated.
   *
   * Throws VenueError, UnknownOutcome, or the error of fetch if a read gets no response.
   */
  async call<T>(method: string, target: string, body?: unknown): Promise<T> {
    const raw = body === undefined ? "" : JSON.stringify(body);
    const request = `${method} ${target}`;
    let headers = await this.headers(method, target, raw);
    let signed = performance.now();
    let lost = false;
    for (let left = this.tries - 1; ; left--) {
      let wait = 200;
      let last: unknown;
      try {
        return (await this.send(method, target, raw, headers)) as T;
      } catch (e) {
        last = e;
        if (e instanceof VenueError) {
          if (safe.has(e.code) && !lost) {
            if (left <= 0) throw e;
            wait = Number(e.details["retry_after_ms"] ?? 200);
          } else if (safe.has(e.code) || unknown.has(e.code) || e.status >= 500) {
            lost = true; // a code that is not known here is of a later version of the venue, or of a proxy
          } else if (lost && e.origin !== "core") {
            throw new UnknownOutcome(`${request}: no response`, { cause: e }); // such as an expired signature: only the core knows the first request
          } else if (lost && e.code === "unknown_order") {
            throw new UnknownOutcome(`${request}: no first response; the order is not open now`, { cause: e });
          } else {
            throw e;
          }
        } else {
          lost = true;
        }
      }
      if (lost && read.test(request)) {
        if (left <= 0) throw last;
        lost = false;
      }
      if (lost && (left <= 0 || !repeatable.test(request) || performance.now() - signed + wait > sameBytes)) {
        throw new UnknownOutcome(`${request}: no response`, { cause: last });
      }
      await sleep(wait);
      if (!lost) {
        headers = await this.headers(method, target, raw);
        signed = performance.now();
      }
    }
  }

  private async headers(method: string, target: string, raw: string): Promise<Record<string, string>> {
    const now = String(Date.now());
    return {
      "DX-ACCESS-KEY": this.key,
      "DX-ACCESS-TIMESTAMP": now,
      "DX-ACCESS-SIGNATURE": await sign(this.secret, now, method, target, raw),
      ...(raw && { "Content-Type": "application/json" }),
    };
  }

  /** Sends one attempt. Tests replace it. */
  protected async send(method: string, target: string, raw: string, headers: Record<string, string>): Promise<unknown> {
    const response = await fetch(this.url + target, { method, headers, body: raw || null, redirect: "error", signal: AbortSignal.timeout(this.timeout) });
    const out = await response.json();
    if (response.ok) return out;
    if (typeof out?.error?.code !== "string" || typeof out.error.origin !== "string") throw new TypeError(`no response of the venue: HTTP status ${response.status}`); // from a proxy
    throw new VenueError(response.status, out.error);
  }

  /**
   * Places an order once, even if responses are lost. The account must not have used its
   * client_order_id. Returns the response, or the order as it is now if its response was lost. Throws
   * VenueError if the venue rejected the order, and UnknownOutcome if a response was lost and the venue
   * does not say what became of the order.
   */
  async place(order: Schemas["PlaceOrder"]): Promise<Schemas["Outcome"] | Schemas["Order"]> {
    let lost: UnknownOutcome | undefined; // the first attempt that may have been executed
    for (let left = this.tries - 1; ; left--) {
      try {
        return await this.call<Schemas["Outcome"]>("POST", "/v1/portfolio/orders", order);
      } catch (e) {
        if (e instanceof UnknownOutcome) {
          lost ??= e;
          if (left <= 0) throw lost;
          await sleep(200);
        } else if (lost && e instanceof VenueError && e.code === "duplicate_client_order_id") {
          return this.first(order.client_order_id, e.status, lost);
        } else if (lost && e instanceof VenueError && e.origin !== "core") {
          throw lost; // the error says nothing about the first attempt
        } else {
          throw e;
        }
      }
    }
  }

  /** Returns the order that an earlier attempt placed. Throws VenueError with its reason if it was rejected. */
  private async first(clientOrderId: string, status: number, lost: UnknownOutcome): Promise<Schemas["Order"]> {
    const row = await this.find(clientOrderId).catch(() => {
      throw lost;
    });
    if (row.order_id === null) throw new VenueError(status, { code: row.reason, origin: "core", details: null });
    return row;
  }

  /** Returns the order with a client_order_id. Throws if there is none. */
  async find(clientOrderId: string): Promise<Schemas["Order"]> {
    const { orders } = await this.call<Schemas["OrderList"]>("GET", `/v1/portfolio/orders?client_order_id=${encodeURIComponent(clientOrderId)}`);
    const [order] = orders;
    if (!order) throw new Error(`no order with client_order_id ${clientOrderId}`);
    return order;
  }
}
