// The event lane: a WebSocket that connects again and resumes.
import { type Book, Books, mostAge } from "./books.js";
import type { Client } from "./client.js";
import { VenueError, verdict } from "./errors.js";
import type { components } from "./events.js";
import type { Transport } from "./platform.js";
import { Backoff } from "./retry.js";
import { sign } from "./values.js";

type Events = components["schemas"];

/** A message of the channel user. `msg.event` says which. */
export type UserMessage =
  | Events["UserOrderMessage"]
  | Events["UserFillMessage"]
  | Events["UserBalanceMessage"]
  | Events["UserPositionMessage"]
  | Events["UserSettlementMessage"]
  | Events["UserDepositMessage"]
  | Events["UserWithdrawalMessage"]
  | Events["UserTransferMessage"]
  | Events["UserAccountMessage"]
  | Events["UserDeadmanMessage"]
  | Events["UserGroupMessage"]
  | Events["UserApprovalMessage"]
  | Events["UserKeyRevokedMessage"];

/** A message of the event lane. `type` says which. */
export type Message =
  | Events["SubscribedMessage"]
  | Events["DrainingMessage"]
  | Events["OrderbookSnapshotMessage"]
  | Events["OrderbookDeltaMessage"]
  | Events["TradeMessage"]
  | Events["OracleMessage"]
  | Events["RoundMessage"]
  | Events["UserSnapshotMessage"]
  | UserMessage;

type Received = Message | Events["ErrorMessage"] | Events["SubscriptionsMessage"] | Events["SubscriptionUpdatedMessage"];

export type Channel = Events["WSSubscribed"]["channel"];

export interface StreamOptions {
  /** A connection on which nothing arrives for this many milliseconds is left. 10,000, or the client's timeout if that is more. */
  silence?: number;
  /** Called when an outage begins, with its cause and its time. Every book is unknown until its next snapshot. */
  onDisconnect?: (error: Error, since: Date) => void;
  /** Called when a change of a book is more than 2 s old. The book is unknown until the snapshot that the stream requests. */
  onLate?: (marketId: number, ageMs: number) => void;
  /** Groups whose orders the venue cancels when a connection ends, 0 for all of the account. A new connection binds them again. */
  cancelOnDisconnect?: number[];
}

/**
 * How long a measure of the clock is enough to call a change late, in milliseconds. The clock stands still while a
 * machine sleeps, and a wrong one would make every change late.
 */
const measuredFor = 10_000;

const mostWaiting = 10_000; // messages that are received and not iterated yet

/**
 * Subscribes to channels; iterating yields their messages. The iteration throws if there is no first message within
 * the client's budget. A connection on which something else than a message arrives is left. After a lost connection it connects again. The channel user then continues without a missing
 * or repeated event (docs/rules/events.md#resume); the others begin with new snapshots. After a gap of a book, or a
 * change of it that is late, the stream requests a snapshot and drops the changes before it.
 *
 * A WebSocket does not reveal why its handshake failed, so each connection begins with a signed GET /v1/time, which
 * throws for a wrong key and measures the clock. A connection can also die without a close: the stream asks the venue
 * something after half of the time of silence. It also leaves a connection of which 10,000 messages wait to be
 * iterated, because they are old.
 */
export class Stream {
  readonly #options: StreamOptions;
  readonly #silence: number;
  readonly #books = new Books();
  readonly #closed = new AbortController();
  #disconnect: (error?: Error) => void = () => {};
  #since: Date | undefined; // the begin of the outage
  // A connection can end between two events of one command, and since_seq names whole commands.
  #whole = ""; // the last seq whose events have all been yielded
  #seq = ""; // the newest seq
  #yielded = 0; // how many of its events were yielded

  constructor(
    readonly client: Client,
    readonly channels: Channel[],
    readonly marketIds: number[] = [],
    options: StreamOptions = {},
  ) {
    this.#options = options;
    this.#silence = options.silence ?? Math.max(10_000, client.timeout);
  }

  /** Returns a copy of a market's book as of the last message yielded, or undefined while it is unknown. The stream needs the channel orderbook_delta. */
  book(marketId: number): Book | undefined {
    return this.#books.get(marketId);
  }

  /** Closes the connection and ends the iteration. */
  close(): void {
    this.#closed.abort(new Error("the stream is closed"));
    this.#disconnect();
    this.#books.clear(); // the iteration may never go on
  }

  /** Drops the connection and what it has received. The iteration continues with a new one. */
  reconnect(): void {
    this.#disconnect();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message> {
    const { client } = this;
    const { platform } = client;
    const { signal } = this.#closed;
    const { socket } = await client.transport();
    if (!socket) throw new TypeError("there is no WebSocket here: use Node 22, or node --experimental-websocket");
    const backoff = new Backoff(platform.random);
    let end: number | undefined = platform.now() + client.budget; // until there was a connection
    try {
      while (!signal.aborted) {
        let failed: unknown;
        try {
          const budget = end === undefined ? client.budget : end - platform.now();
          const time = await client.syncClock({ budget, signal });
          // Only a measured clock tells the age of a message, and the time of an arena is virtual.
          for await (const message of this.#messages(socket, time?.clock === "wall", end)) {
            end = undefined;
            backoff.reset();
            this.#back();
            yield message;
          }
        } catch (e) {
          failed = e;
        }
        this.#books.clear();
        if (signal.aborted) return;
        if (failed && verdict(failed) === "final") throw failed;
        if (failed && end === undefined) this.#lost(failed as Error);
        const wait = (failed instanceof VenueError ? failed.retryAfter : undefined) ?? backoff.next();
        if (end !== undefined && platform.now() + wait > end) throw failed ?? new Error("there was no connection");
        await client.sleep(wait, signal).catch(() => {}); // closed
      }
    } finally {
      this.#disconnect(); // another iteration goes on where this one was left
      this.#books.clear();
    }
  }

  #lost(error: Error): void {
    if (this.#since) return;
    this.#since = new Date(this.client.platform.wall());
    this.client.log(`duplex: no stream from ${this.client.url} since ${this.#since.toISOString()}: ${error.message}`);
    this.#options.onDisconnect?.(error, this.#since);
  }

  #back(): void {
    if (!this.#since) return;
    const seconds = (this.client.platform.wall() - this.#since.getTime()) / 1000;
    this.#since = undefined;
    this.client.log(`duplex: the stream from ${this.client.url} is back after ${seconds.toFixed(1)} s`);
  }

  /** Yields the messages of one connection. Throws what ended it; returns if reconnect or close did. */
  async *#messages(socket: NonNullable<Transport["socket"]>, clockKnown: boolean, end: number | undefined): AsyncGenerator<Message> {
    const { client } = this;
    const { platform } = client;
    const now = String(Math.round(client.now()));
    const mac = (await sign(client.secret, now, "GET", "/v1/ws")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    if (this.#closed.signal.aborted) return; // while it signed
    const ws = socket(client.url.replace(/^http/, "ws") + "/v1/ws", ["dx.v1", `dx.auth.${client.key}.${now}.${mac}`]);
    const queue: Received[] = [];
    let ended = false;
    let failure: Error | undefined;
    let wake = () => {};
    const finish = (error?: Error) => {
      if (ended) return;
      [ended, failure] = [true, error];
      wake();
    };
    this.#disconnect = (error) => {
      finish(error);
      queue.length = 0;
      ws.onmessage = null;
      ws.close();
    };

    const timers = new Set<() => void>();
    const after = (ms: number, f: () => void) => {
      const cancel = platform.after(Math.max(1, ms), () => (timers.delete(cancel), f()));
      timers.add(cancel);
    };
    let brought = false; // it has brought a message for the caller
    if (end !== undefined) after(end - platform.now(), () => brought || this.#disconnect(new Error(`there was no connection within ${client.budget} ms`)));

    let lastId = 0;
    const commands = new Map<number, string>();
    const send = (text: string) => {
      if (ws.readyState === 1) ws.send(text);
    };
    const command = (cmd: string, params?: object) => {
      const text = JSON.stringify({ id: ++lastId, cmd, params });
      commands.set(lastId, text);
      send(text);
    };

    let measured = platform.now();
    const half = this.#silence / 2;
    let heard: number | undefined; // when a message arrived
    let asked: number | undefined; // when the stream asked, if nothing arrived since
    const began = platform.now();
    const watch = () => {
      const at = platform.now();
      const idle = at - (heard ?? began);
      if (asked !== undefined && at - asked >= half) return this.#disconnect(new Error(`nothing arrived for ${this.#silence} ms`));
      if (idle >= half && asked === undefined) {
        asked = at;
        if (lastId > 0) command("list_subscriptions");
      }
      after(asked === undefined ? half - idle : half - (at - asked), watch);
    };
    after(half, watch);

    ws.onmessage = (e) => {
      heard = platform.now();
      asked = undefined;
      try {
        const message = JSON.parse(e.data);
        if (typeof message.type !== "string" || typeof message.msg !== "object" || !message.msg) throw new TypeError(e.data);
        queue.push(message);
      } catch (cause) {
        return this.#disconnect(new Error("what arrived is no message of the venue", { cause }));
      }
      if (queue.length > mostWaiting) this.#disconnect(new Error(`${mostWaiting} messages wait to be iterated`));
      else wake();
    };
    ws.onclose = (e) => finish(new Error(`the connection ended with ${e.code}${e.reason && `: ${e.reason}`}`));
    ws.onerror = (e) => finish(new Error(`the connection failed${"message" in e && e.message ? `: ${e.message}` : ""}`));
    ws.onopen = () => {
      for (const group_id of this.#options.cancelOnDisconnect ?? []) command("cancel_on_disconnect", { enabled: true, group_id });
      const params: Events["WSSubscribe"] = { channels: this.channels };
      if (this.marketIds.length) params.market_ids = this.marketIds;
      if (this.channels.includes("user") && this.#whole) params.since_seq = this.#whole;
      command("subscribe", params);
    };

    let account = "0"; // the seq of the last event of the account
    let again = this.#yielded; // events of the newest seq that a resume sends again
    try {
      for (;;) {
        const message = queue.shift();
        if (!message) {
          if (!ended) {
            await new Promise<void>((done) => (wake = done));
            continue;
          }
          if (failure) throw failure;
          return;
        }
        if (message.type === "ok" || message.type === "error") {
          const id = message.id ?? 0;
          const sent = commands.get(id);
          commands.delete(id);
          if (message.type === "ok") continue;
          const { name, retry_after_ms } = message.msg;
          if (sent && name === "rate_limited") {
            after(Number(retry_after_ms ?? 100), () => (commands.set(id, sent), send(sent)));
            continue;
          }
          throw new VenueError(0, { code: name, origin: "gateway", details: retry_after_ms === undefined ? null : { retry_after_ms } });
        }
        if (message.type === "user_snapshot") {
          account = this.#whole = this.#seq = message.seq;
          this.#yielded = again = 0;
        } else if (message.type === "user") {
          const { seq, prev_seq } = message;
          if (prev_seq !== account) throw new Error("an event of the account is missing");
          account = seq;
          if (seq === this.#seq && again) {
            again--;
            continue;
          }
          again = 0;
          if (seq !== this.#seq) [this.#whole, this.#seq, this.#yielded] = [this.#seq, seq, 0];
          this.#yielded++;
        } else if (message.type === "orderbook_snapshot") {
          this.#books.snapshot(message);
        } else if (message.type === "orderbook_delta") {
          const { market_id, ts } = message.msg;
          const ageNow = () => (clockKnown ? client.now() - Number(ts) / 1e6 : NaN);
          let age = ageNow();
          if (Math.abs(age) > mostAge && platform.now() - measured > measuredFor) {
            measured = platform.now();
            await client.syncClock({ budget: client.timeout, signal: this.#closed.signal }).catch(() => {}); // without an answer the last one holds
            age = ageNow();
          }
          const { then, late } = this.#books.delta(message, age);
          if (then === "ask") command("update_subscription", { sid: message.sid, action: "get_snapshot", market_ids: [market_id] });
          if (late) this.#options.onLate?.(market_id, age);
          if (then !== "yield") continue;
        }
        brought = true;
        yield message;
      }
    } finally {
      for (const cancel of timers) cancel();
      ws.onmessage = ws.onclose = ws.onerror = ws.onopen = null;
      ws.close();
    }
  }
}
