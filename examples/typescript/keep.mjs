// @ts-check
// A local copy of one market's book and of the account, kept from the event lane over
// connections that end. It does no I/O: it receives messages and returns what to send.

/** @typedef {{cmd: string, params: object}} Command */
/** @typedef {{type: string, sid: number, seq: string, prev_seq: string, msg: any}} Message */

export class Keep {
  /** @param {number} market @param {(seq: string, event: any) => void} [on] each event of the account, once and in order */
  constructor(market, on = () => {}) {
    this.market = market;
    this.on = on;
    /** The book; null until a snapshot arrives. @type {{seq: string, generation: number, yes: number[][], no: number[][]} | null} */
    this.book = null;
    this.account = { seq: "0", cash: "0", reserved: "0", orders: new Map(), positions: new Map() };
    // All events up to seq `whole` were received, and the first `part` events of seq `at`: a
    // command can cause several events, and a connection may end between them.
    /** @type {{whole: string, at: string, part: number} | null} */
    this.mark = null;
    /** The seq of the last message, by sid. @type {Map<number, string>} */
    this.last = new Map();
    this.asked = false; // a snapshot of the book has been requested
    this.skip = 0; // next events that an earlier connection already delivered
  }

  /** Returns the first command to send on a new connection. @returns {Command} */
  begin() {
    this.last.clear();
    this.book = null;
    this.asked = false;
    this.skip = this.mark?.part ?? 0;
    const since = this.mark && { since_seq: this.mark.whole };
    return { cmd: "subscribe", params: { channels: ["orderbook_delta", "user"], market_ids: [this.market], ...since } };
  }

  /** Call this when a connection ends. The book is unknown until the next snapshot. */
  ended() {
    this.book = null;
  }

  /**
   * Applies a message. Returns a command to send, "resume" if the connection must be
   * replaced by a new one, or nothing.
   * @param {Message} m @returns {Command | "resume" | undefined}
   */
  take(m) {
    const follows = (this.last.get(m.sid) ?? "0") === m.prev_seq;
    if (m.seq) this.last.set(m.sid, m.seq);
    switch (m.type) {
      case "orderbook_snapshot":
        this.asked = false;
        this.book = { seq: m.seq, generation: m.msg.generation, yes: m.msg.yes, no: m.msg.no };
        return;
      case "orderbook_delta":
        return this.delta(m, follows);
      case "user_snapshot":
        this.snapshot(m);
        return;
      case "user":
        return this.event(m, follows);
      case "error":
        throw new Error(`the venue rejected a command: ${m.msg.name}`);
    }
  }

  /** @param {Message} m @param {boolean} follows @returns {Command | undefined} */
  delta(m, follows) {
    if (!this.book || !follows || this.book.generation !== m.msg.generation) {
      this.book = null;
      if (this.asked) return; // a snapshot has been requested
      this.asked = true;
      return { cmd: "update_subscription", params: { sid: m.sid, action: "get_snapshot", market_ids: [this.market] } };
    }
    for (const { outcome, tick, qty } of m.msg.changes) {
      const side = outcome === "yes" ? this.book.yes : this.book.no;
      const rest = side.filter((level) => level[0] !== tick);
      if (qty > 0) rest.push([tick, qty]);
      side.splice(0, side.length, ...rest.sort((a, b) => b[0] - a[0]));
    }
    this.book.seq = m.seq;
  }

  /** @param {Message} m */
  snapshot({ msg }) {
    this.account = { seq: msg.as_of_seq, cash: msg.cash, reserved: msg.reserved, orders: new Map(), positions: new Map() };
    for (const o of msg.orders) this.account.orders.set(o.order_id, o);
    for (const p of msg.positions) this.account.positions.set(p.market_id, p);
    this.mark = { whole: msg.as_of_seq, at: msg.as_of_seq, part: 0 };
    this.skip = 0;
  }

  /** @param {Message} m @param {boolean} follows @returns {"resume" | undefined} */
  event(m, follows) {
    const mark = this.mark;
    if (!mark || !follows) return "resume";
    if (this.skip && m.seq === mark.at) {
      this.skip--;
      return;
    }
    this.skip = 0;
    if (m.seq !== mark.at) Object.assign(mark, { whole: mark.at, at: m.seq, part: 0 });
    mark.part++;
    this.account.seq = m.seq;
    this.fold(m.msg);
    this.on(m.seq, m.msg);
  }

  /** @param {any} e */
  fold(e) {
    const a = this.account;
    if (e.event === "balance") Object.assign(a, { cash: e.cash, reserved: e.reserved });
    if (e.event === "position" && e.yes_qty + e.no_qty > 0) a.positions.set(e.market_id, e);
    if (e.event === "position" && e.yes_qty + e.no_qty === 0) a.positions.delete(e.market_id);
    if (e.event !== "order" || e.order.order_id === null) return;
    if (e.order.status === "resting" || e.order.status === "partially_filled") a.orders.set(e.order.order_id, e.order);
    else a.orders.delete(e.order.order_id);
  }
}
