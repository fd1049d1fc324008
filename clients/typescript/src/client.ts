// Signed REST requests and their repeats.
import type { components, paths } from "./api.js";
import { isNotExecuted, NotExecuted, UnknownOutcome, VenueError } from "./errors.js";
import { environmentTimeout, type Platform, platform, type Transport } from "./platform.js";
import { attempts, Executed, type Repeat, repeatOf, sameBytes } from "./retry.js";
import { baseUrl, clientOrderId, sign } from "./values.js";

type Schemas = components["schemas"];
type Get<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } } ? NonNullable<Q> : never;
/** The filters of a list. */
export type Filter<P extends keyof paths> = Omit<Get<P>, "cursor">;

export interface ClientOptions {
  /** How long one attempt waits for its response, in milliseconds. 5000, or DX_TIMEOUT (in seconds). */
  timeout?: number;
  /** How long a call takes with all of its attempts, in milliseconds. 30,000, or the timeout if that is more. */
  budget?: number;
  /** Takes a line about an outage of a stream. console.warn by default. */
  log?: (line: string) => void;
}

/** The bounds of one call. */
export interface Limits {
  /** Milliseconds, instead of the client's. */
  budget?: number;
  signal?: AbortSignal;
}

const approvals = "/v1/portfolio/approvals";

/** The smallest difference of the clocks that can explain a 401: Date is cut to the second, and the venue accepts 5 s. */
const clockDifference = 2000;

/** Sends requests to a venue, with one key. */
export class Client {
  /** The address of the venue, without a slash at its end. */
  readonly url: string;
  readonly timeout: number;
  readonly budget: number;
  readonly log: (line: string) => void;
  /** @internal */
  readonly platform: Platform = platform;
  #transport: Promise<Transport> | undefined;
  #ahead: number | undefined; // the venue's time less the clock that only rises, in ms

  /** Throws TypeError if url is not http or https, host and port alone, and RangeError if DX_TIMEOUT is no time. */
  constructor(
    url: string,
    readonly key: string,
    readonly secret: string,
    { timeout, budget, log = (line) => console.warn(line) }: ClientOptions = {},
  ) {
    this.url = baseUrl(url);
    const set = environmentTimeout();
    this.timeout = timeout ?? set ?? 5000;
    this.budget = budget ?? Math.max(30_000, this.timeout);
    this.log = log;
  }

  /**
   * The venue's time in Unix milliseconds: the local clock at the first use, or what the venue said last, plus what has
   * passed since by a clock that only rises. A local clock that is set, forward or back, changes nothing. A clock that
   * stands still while a machine sleeps is corrected by the next 401, or by a stream.
   */
  now(): number {
    this.#ahead ??= this.platform.wall() - this.platform.now();
    return this.platform.now() + this.#ahead;
  }

  /**
   * Sends one request and returns the body of its response. A read, and a request that the venue did not execute, is
   * signed again and repeated within the budget. A cancel, forecast, withdrawal or dead-man switch without a response
   * is repeated with the same signed bytes while they are valid: the venue then returns the first response. There are
   * two exceptions: a repeated cancel of one order that finds no open order throws UnknownOutcome, because the first
   * request may have canceled it, and in the response to a repeated batch of cancels each such order has
   * unknown_order. Other writes without a response are not repeated.
   *
   * Throws VenueError, UnknownOutcome, NotExecuted without a connection, or the error of fetch if a read got no response.
   */
  async call<T>(method: string, target: string, body?: unknown): Promise<T> {
    return (await this.request(repeatOf(method, target), method, target, body)) as T;
  }

  /** @internal */
  async request(repeat: Repeat, method: string, target: string, body?: unknown, { budget = this.budget, signal }: Limits = {}): Promise<unknown> {
    const { platform } = this;
    const transport = await this.transport();
    const raw = body === undefined ? "" : JSON.stringify(body);
    const end = platform.now() + budget;
    const steps = attempts(`${method} ${target}`, repeat, end, platform.random);
    let headers: Record<string, string> = {};
    let signed = 0;
    let ahead: number | undefined; // #ahead when it signed
    for (let step = steps.next(); ; ) {
      if (step.done) return step.value;
      if (step.value.wait > 0) await this.sleep(step.value.wait, signal);
      if (step.value.fresh) {
        signed = platform.now();
        const signing = this.headers(method, target, raw); // it has taken the time
        ahead = this.#ahead;
        headers = await signing;
      }
      const timeout = new AbortController();
      const stop = () => timeout.abort(signal?.reason);
      signal?.addEventListener("abort", stop);
      const ms = Math.max(1, Math.min(this.timeout, end - platform.now()));
      const cancel = platform.after(ms, () => timeout.abort(new DOMException(`no response within ${Math.round(ms)} ms`, "TimeoutError")));
      let answer: { body?: unknown; error?: unknown; mend?: "late" | "clock" | undefined };
      try {
        answer = { body: await this.send(transport, method, target, raw, headers, timeout.signal) };
      } catch (e) {
        const error = isNotExecuted(e) ? new NotExecuted(`no connection to ${this.url}: ${reason(e)}`, { cause: e }) : e;
        answer = { error, mend: error instanceof VenueError && error.status === 401 ? this.#causeOf401(signed, ahead, error.date) : undefined };
      } finally {
        cancel();
        signal?.removeEventListener("abort", stop);
      }
      if (signal?.aborted && "error" in answer) throw signal.reason;
      step = steps.next({ at: platform.now(), signed, ...answer });
    }
  }

  /** @internal */
  transport(): Promise<Transport> {
    return (this.#transport ??= this.platform.transport(this.url));
  }

  /** @internal */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((done, fail) => {
      if (signal?.aborted) return fail(signal.reason);
      const stop = () => (cancel(), fail(signal?.reason));
      const cancel = this.platform.after(ms, () => (signal?.removeEventListener("abort", stop), done()));
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  private async headers(method: string, target: string, raw: string): Promise<Record<string, string>> {
    const now = String(Math.round(this.now()));
    return {
      "DX-ACCESS-KEY": this.key,
      "DX-ACCESS-TIMESTAMP": now,
      "DX-ACCESS-SIGNATURE": await sign(this.secret, now, method, target, raw),
      ...(raw && { "Content-Type": "application/json" }),
    };
  }

  /** Sends one attempt. A test may replace it, to lose a response. */
  protected async send(transport: Transport, method: string, target: string, raw: string, headers: Record<string, string>, signal: AbortSignal): Promise<unknown> {
    // A signature covers one target, so a redirect is an error of what is in between.
    const response = await transport.fetch(this.url + target, { method, headers, body: raw || null, redirect: "manual", signal });
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    const date = response.headers.get("Date") ?? "";
    let error;
    try {
      ({ error } = JSON.parse(text));
    } catch {}
    if (typeof error?.code !== "string" || typeof error.origin !== "string") error = { code: "", origin: "", details: null };
    throw new VenueError(response.status, error, date);
  }

  /**
   * Returns why the venue did not accept a signature, undefined if another one would not be accepted either. After a
   * long way Date may be old as well, so it does not correct the clock; another call may have done so in the meantime.
   */
  #causeOf401(signed: number, ahead: number | undefined, date: string): "late" | "clock" | undefined {
    if (this.platform.now() - signed >= sameBytes) return "late";
    const time = Date.parse(date) + 500;
    if (Math.abs(time - this.now()) >= clockDifference) this.#ahead = time - this.platform.now();
    return this.#ahead !== ahead ? "clock" : undefined;
  }

  /**
   * Measures the venue's clock and uses it from then on. The error is at most half of a round trip. Returns the venue's
   * answer, or undefined if no round trip took less than a second.
   */
  async syncClock({ budget = this.budget, ...limits }: Limits = {}): Promise<Schemas["Time"] | undefined> {
    const end = this.platform.now() + budget;
    for (let n = 0; n < 2; n++) {
      const sent = this.platform.now();
      const time = (await this.request("any", "GET", "/v1/time", undefined, { ...limits, budget: end - this.platform.now() })) as Schemas["Time"];
      const received = this.platform.now();
      if (received - sent > 1000) continue; // the first one may have made the connection
      this.#ahead = Number(BigInt(time.server_time) / 1000n) / 1000 - (sent + received) / 2;
      return time;
    }
    return undefined;
  }

  /**
   * Places an order once, even if responses are lost. Its client_order_id may be any text (clientOrderId) that the
   * account has not used. Returns the response, or the order as it is now if its response was lost. Throws VenueError
   * if the venue rejected the order, and UnknownOutcome if a response was lost and the venue does not say what became
   * of the order. If a response was lost and another order has the client_order_id, the VenueError has that order.
   *
   * An order whose status is "waiting" is not placed yet: it waits for the owner of the agent until expires_ts, and has
   * an approval_id and no order_id. If its response was lost, it is the approval as it is now (allApprovals).
   */
  async place(order: Schemas["PlaceOrder"]): Promise<Schemas["Outcome"] | Schemas["Waiting"] | Schemas["Order"] | Schemas["AgentApproval"]> {
    return this.#once<Schemas["Outcome"] | Schemas["Waiting"]>("/v1/portfolio/orders", order);
  }

  /** Replaces a resting order once, even if responses are lost. As place; the row is that of the new order. */
  async replace(orderId: string, order: Schemas["ReplaceOrder"]): Promise<Schemas["Replacement"] | Schemas["Order"]> {
    const placed = await this.#once<Schemas["Replacement"]>(`/v1/portfolio/orders/${encodeURIComponent(orderId)}/replace`, order, false);
    return placed as Exclude<typeof placed, Schemas["AgentApproval"]>; // #once throws for an approval
  }

  async #once<T>(target: string, order: Sent, waits = true): Promise<T | Schemas["Order"] | Schemas["AgentApproval"]> {
    const client_order_id = await clientOrderId(order.client_order_id);
    const start = this.platform.now();
    try {
      return (await this.request("client_order_id", "POST", target, { ...order, client_order_id })) as T;
    } catch (e) {
      if (!(e instanceof Executed)) throw e;
      const unknown = new UnknownOutcome(e.message, { cause: e.cause });
      const row = await this.#findPlaced(client_order_id, start + this.budget).catch(() => undefined);
      if (!row) throw unknown;
      if (differs(order, row) || ("approval_id" in row && !waits)) {
        const other = new VenueError(e.status, { code: "duplicate_client_order_id", origin: "core", details: null, field: "client_order_id" });
        other.order = row;
        throw other;
      }
      if (!("approval_id" in row) && row.order_id === null) throw new VenueError(e.status, { code: row.reason, origin: "core", details: null });
      return row;
    }
  }

  /** Places up to 20 orders. Each has a result of its own. It is not repeated after a lost response. */
  async placeBatch(orders: Schemas["PlaceOrder"][]): Promise<Schemas["PlaceResult"][]> {
    const mapped = await Promise.all(orders.map(async (order) => ({ ...order, client_order_id: await clientOrderId(order.client_order_id) })));
    return this.call("POST", "/v1/portfolio/orders/batch", { orders: mapped });
  }

  /** Quotes up to 20 markets, each for a group of orders. After a lost response the same signed bytes are sent again. */
  async putQuotes(quotes: Schemas["Quote"][]): Promise<Schemas["QuoteResult"][]> {
    const mapped = async (side: Schemas["QuoteSide"] | null) => side && { ...side, client_order_id: await clientOrderId(side.client_order_id) };
    return this.call("PUT", "/v1/portfolio/quotes", { quotes: await Promise.all(quotes.map(async (q) => ({ ...q, bid: await mapped(q.bid), ask: await mapped(q.ask) }))) });
  }

  async cancel(orderId: string): Promise<Schemas["Canceled"]> {
    return this.call("DELETE", `/v1/portfolio/orders/${encodeURIComponent(orderId)}`);
  }

  async cancelByClientOrderId(id: string): Promise<Schemas["Canceled"]> {
    return this.call("DELETE", `/v1/portfolio/orders/by-client-order-id/${await clientOrderId(id)}`);
  }

  /** Cancels all orders, or those of a market or a group. */
  async cancelAll(filter: { market_id?: number; group_id?: number } = {}): Promise<Schemas["Sequenced"]> {
    return this.call("DELETE", `/v1/portfolio/orders${query(filter)}`);
  }

  /** Returns the order with a client_order_id, or undefined. */
  async find(id: string): Promise<Schemas["Order"] | undefined> {
    return this.#find(await clientOrderId(id), this.budget);
  }

  async #find(id: string, budget: number): Promise<Schemas["Order"] | undefined> {
    const { orders } = (await this.request("any", "GET", `/v1/portfolio/orders?client_order_id=${id}`, undefined, { budget })) as Schemas["OrderList"];
    return orders[0];
  }

  /** Returns the order with a client_order_id, or its approval if there is no order, until a time of the platform's clock. */
  async #findPlaced(id: string, end: number): Promise<Schemas["Order"] | Schemas["AgentApproval"] | undefined> {
    const left = () => end - this.platform.now();
    const order = await this.#find(id, left());
    if (order) return order;
    for await (const approval of this.#pages<Schemas["AgentApproval"]>(approvals, "approvals", {}, left)) {
      if (approval.client_order_id !== id) continue;
      const decided = approval.status === "placed" || approval.status === "refused"; // since the orders were read
      return decided ? this.#find(id, left()) : approval;
    }
    return undefined;
  }

  // The methods all… iterate over the rows of all pages, newest first unless they say otherwise.

  async *allOrders({ client_order_id, ...filter }: Filter<"/v1/portfolio/orders"> = {}): AsyncGenerator<Schemas["Order"]> {
    yield* this.#pages("/v1/portfolio/orders", "orders", client_order_id === undefined ? filter : { ...filter, client_order_id: await clientOrderId(client_order_id) });
  }
  /** The orders that wait for the owner of the agent, and what became of others. */
  allApprovals(filter: Filter<"/v1/portfolio/approvals"> = {}): AsyncGenerator<Schemas["AgentApproval"]> {
    return this.#pages(approvals, "approvals", filter);
  }
  allFills(filter: Filter<"/v1/portfolio/fills"> = {}): AsyncGenerator<Schemas["Fill"]> {
    return this.#pages("/v1/portfolio/fills", "fills", filter);
  }
  /** By ascending market_id. */
  allPositions(filter: Filter<"/v1/portfolio/positions"> = {}): AsyncGenerator<Schemas["Position"]> {
    return this.#pages("/v1/portfolio/positions", "positions", filter);
  }
  allSettlements(filter: Filter<"/v1/portfolio/settlements"> = {}): AsyncGenerator<Schemas["Settlement"]> {
    return this.#pages("/v1/portfolio/settlements", "settlements", filter);
  }
  allLedger(filter: Filter<"/v1/portfolio/ledger"> = {}): AsyncGenerator<Schemas["LedgerRow"]> {
    return this.#pages("/v1/portfolio/ledger", "ledger", filter);
  }
  allPortfolioRounds(filter: Filter<"/v1/portfolio/rounds"> = {}): AsyncGenerator<Schemas["AccountRound"]> {
    return this.#pages("/v1/portfolio/rounds", "rounds", filter);
  }
  allForecasts(filter: Filter<"/v1/forecasts"> = {}): AsyncGenerator<Schemas["Forecast"]> {
    return this.#pages("/v1/forecasts", "forecasts", filter);
  }
  allDeposits(filter: Filter<"/v1/deposits"> = {}): AsyncGenerator<Schemas["DepositRow"]> {
    return this.#pages("/v1/deposits", "deposits", filter);
  }
  allWithdrawals(filter: Filter<"/v1/withdrawals"> = {}): AsyncGenerator<Schemas["Withdrawal"]> {
    return this.#pages("/v1/withdrawals", "withdrawals", filter);
  }
  /** By ascending market_id. */
  allMarkets(filter: Filter<"/v1/markets"> = {}): AsyncGenerator<Schemas["Market"]> {
    return this.#pages("/v1/markets", "markets", filter);
  }
  allTrades(marketId: number, filter: Filter<"/v1/markets/{market_id}/trades"> = {}): AsyncGenerator<Schemas["Trade"]> {
    return this.#pages(`/v1/markets/${marketId}/trades`, "trades", filter);
  }
  allRounds(filter: Filter<"/v1/rounds"> = {}): AsyncGenerator<Schemas["Round"]> {
    return this.#pages("/v1/rounds", "rounds", filter);
  }
  /** The steps of a feed's price history. */
  allPrices(filter: Filter<"/v1/oracle/history"> = {}): AsyncGenerator<Schemas["PriceRow"]> {
    return this.#pages("/v1/oracle/history", "rows", filter);
  }
  /** The steps of a round's history. */
  allRoundRows(marketId: number, filter: Filter<"/v1/rounds/{market_id}/history"> = {}): AsyncGenerator<Schemas["RoundRow"]> {
    return this.#pages(`/v1/rounds/${marketId}/history`, "rows", filter);
  }
  /** The index ticks that settled a round. */
  allEvidenceTicks(marketId: number, filter: Filter<"/v1/rounds/{market_id}/evidence"> = {}): AsyncGenerator<Schemas["EvidenceTick"]> {
    return this.#pages(`/v1/rounds/${marketId}/evidence`, "ticks", filter);
  }

  async *#pages<Row>(path: string, rows: string, filter: object, budget = () => this.budget): AsyncGenerator<Row> {
    for (let cursor = ""; ; ) {
      const target = path + query(cursor ? { ...filter, cursor } : filter);
      const page = (await this.request("any", "GET", target, undefined, { budget: budget() })) as Record<string, unknown>;
      yield* page[rows] as Row[];
      cursor = page["cursor"] as string;
      if (!cursor) return;
    }
  }
}

/** What differs compares: a placement, or a replace. */
type Sent = { client_order_id: string } & Partial<Pick<Schemas["PlaceOrder"], "market_id" | "side" | "outcome" | "type" | "tick" | "qty">> & Pick<Schemas["ReplaceOrder"], "keep_total">;

/**
 * Reports whether a row, of an order or an approval, is another order than one that was sent, with the same client_order_id. It compares what a
 * decrease, a fill or a price collar does not change. A rejected row may lack a tick and a quantity that were not valid.
 * A replace may leave out members, and with keep_total the row has another quantity.
 */
function differs(sent: Sent, row: Schemas["Order"] | Schemas["AgentApproval"]): boolean {
  const { market_id, side, outcome, type = "limit", tick, qty, keep_total } = sent;
  const another = <T>(want: T | undefined, got: T) => want !== undefined && want !== got;
  if (type !== row.type || another(market_id, row.market_id) || another(side, row.side) || another(outcome, row.outcome)) return true;
  const rejected = !("approval_id" in row) && row.order_id === null;
  return !rejected && ((type === "limit" && another(tick, row.tick)) || (!keep_total && another(qty, row.qty)));
}

/** Returns the innermost text of an error. */
function reason(e: unknown): string {
  return e instanceof Error ? (e.cause instanceof Error && reason(e.cause)) || e.message : String(e);
}

/** Returns a query string with its question mark, or "". */
function query(filter: object): string {
  const members = Object.entries(filter).filter(([, value]) => value !== undefined);
  return members.length ? `?${new URLSearchParams(members.map(([name, value]) => [name, String(value)]))}` : "";
}
