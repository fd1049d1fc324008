// The event lane: a WebSocket that connects again and resumes.
import { type Client, safe, sign, sleep, unknown, VenueError } from "./client.js";

/** A message of the event lane; /asyncapi.json on the portal describes each type. */
export interface Message {
  type: string;
  id?: number;
  sid?: number;
  seq?: string;
  prev_seq?: string;
  msg: any;
}

const mostWaiting = 10_000; // messages that are received and not iterated yet

/**
 * Subscribes to channels; iterating yields their messages. After a lost connection it connects
 * again. The channel user then continues without a missing or repeated event
 * (docs/rules/events.md#resume); the others begin with new snapshots. A WebSocket does not reveal why
 * its handshake failed, so each connection begins with a signed GET /v1/time, which throws for a
 * wrong key. A connection can also die without a close: the stream asks the venue something every
 * silence ms, and leaves a connection on which nothing arrives until the next time. It also leaves one
 * of which 10,000 messages wait to be iterated, because they are old.
 */
export class Stream {
  #disconnect = () => {};
  #closed = false;
  // A connection can end between two events of one command, and since_seq names whole commands.
  #whole = ""; // the last seq whose events have all been yielded
  #seq = ""; // the newest seq
  #yielded = 0; // how many of its events were yielded

  constructor(
    readonly client: Client,
    readonly channels: string[],
    readonly marketIds: number[] = [],
    readonly silence = 30_000,
  ) {}

  /** Closes the connection and ends the iteration. */
  close(): void {
    this.#closed = true;
    this.#disconnect();
  }

  /** Drops the connection and what it has received. The iteration continues with a new one. */
  reconnect(): void {
    this.#disconnect();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message> {
    let wait = 100;
    try {
      while (!this.#closed) {
        let asked = 0; // ms to wait that the venue names
        try {
          await this.client.call("GET", "/v1/time");
          for await (const message of this.#messages()) {
            wait = 100;
            yield message;
          }
        } catch (e) {
          if (e instanceof VenueError) {
            if (!safe.has(e.code) && !unknown.has(e.code) && e.status < 500) throw e;
            asked = Number(e.details["retry_after_ms"] ?? 0);
          }
        }
        if (this.#closed) return;
        await sleep(Math.max(asked, wait * (0.5 + Math.random() / 2))); // not all clients of a venue at once
        wait = Math.min(2 * wait, 5000);
      }
    } finally {
      this.#disconnect(); // another iteration goes on where this one was left
    }
  }

  async *#messages(): AsyncGenerator<Message> {
    const { client } = this;
    const now = String(Date.now());
    const mac = (await sign(client.secret, now, "GET", "/v1/ws")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    if (this.#closed) return; // while it connected
    const socket = new WebSocket(client.url.replace(/^http/, "ws") + "/v1/ws", ["dx.v1", `dx.auth.${client.key}.${now}.${mac}`]);
    const queue: Message[] = [];
    let ended = false;
    let wake = () => {};
    const probe = this.channels.length + 1; // the id of the question, after those of the subscriptions
    let asked = false; // and nothing has arrived since
    const watchdog = setInterval(() => {
      if (asked) return this.#disconnect();
      asked = true;
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id: probe, cmd: "list_subscriptions" }));
    }, this.silence);
    this.#disconnect = () => {
      ended = true;
      queue.length = 0;
      socket.onmessage = null;
      socket.close();
      wake();
    };
    socket.onmessage = (e) => {
      asked = false;
      queue.push(JSON.parse(e.data));
      if (queue.length > mostWaiting) this.#disconnect();
      else wake();
    };
    socket.onclose = socket.onerror = () => {
      ended = true;
      wake();
    };
    socket.onopen = () =>
      this.channels.forEach((channel, n) => {
        const params: Record<string, unknown> = { channels: [channel] };
        if (this.marketIds.length && channel !== "oracle" && channel !== "user") params["market_ids"] = this.marketIds;
        if (channel === "user" && this.#whole) params["since_seq"] = this.#whole;
        socket.send(JSON.stringify({ id: n + 1, cmd: "subscribe", params }));
      });
    const books = new Map<string, string>(); // the last seq of each book
    let again = this.#yielded; // events of the newest seq that a resume sends again
    try {
      for (;;) {
        const message = queue.shift();
        if (!message) {
          if (ended) return;
          await new Promise<void>((done) => (wake = done));
          continue;
        }
        const { id, type, msg, sid, seq = "" } = message;
        if (id === probe) continue;
        if (type === "error") throw new VenueError(0, { code: msg.name, origin: "gateway", details: msg.retry_after_ms === undefined ? null : { retry_after_ms: String(msg.retry_after_ms) } });
        if (type === "user_snapshot") {
          this.#whole = this.#seq = seq;
          this.#yielded = again = 0;
        } else if (type === "user") {
          if (seq === this.#seq && again) {
            again--;
            continue;
          }
          if (seq !== this.#seq) [this.#whole, this.#seq, this.#yielded] = [this.#seq, seq, 0];
          this.#yielded++;
        } else if (type === "orderbook_snapshot" || type === "orderbook_delta") {
          const book = `${sid}/${msg.market_id}`;
          if (type === "orderbook_delta" && books.get(book) !== message.prev_seq) return; // a message is missing
          books.set(book, seq);
        }
        yield message;
      }
    } finally {
      clearInterval(watchdog);
      socket.close();
    }
  }
}
