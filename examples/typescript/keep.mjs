// @ts-check
// What a reader of the event lane keeps: the book of one market and its account, over
// connections that end. It does no I/O: it takes messages, and says what to send.

/** @typedef {{cmd: string, params: object}} Command */
/** @typedef {{type: string, sid: number, seq: string, prev_seq: string, msg: any}} Message */

export class Keep {
  /** @param {number} market @param {(seq: string, event: any) => void} [on] each event of the account, once and in order */
  constructor(market, on = () => {}) {
    this.market = market;
    this.on = on;
    /** The book; null while it is not known for sure. @type {{seq: string, generation: number, yes: number[][], no: number[][]} | null} */
    this.book = null;
    this.account = { seq: "0", cash: "0", reserved: "0", orders: new Map(), positions: new Map() };
    // All events up to `whole` were seen, and the first `part` of those of `at`: a
    // command causes several, and a connection may end between them.
    /** @type {{whole: string, at: string, part: number} | null} */
    this.mark = null;
    /** The seq of the message before, by sid. @type {Map<number, string>} */
    this.last = new Map();
    this.asked = false; // for a snapshot of the book
    this.skip = 0; // events to come that an earlier connection brought
  }

  /** A connection is open: this is the first thing to send. @returns {Command} */
  begin() {
    this.last.clear();
    this.book = null;
    this.asked = false;
    this.skip = this.mark?.part ?? 0;
    const since = this.mark && { since_seq: this.mark.whole };
    return { cmd: "subscribe", params: { channels: ["orderbook_delta", "user"], market_ids: [this.market], ...since } };
  }

  /** The connection has ended: no book is known until the next one's snapshot. */
  ended() {
    this.book = null;
  }

  /**
   * Takes a message. It gives a command to send, "resume" when the connection has to
   * be given up for a new one, or nothing.
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
        throw new Error(`the venue refused: ${m.msg.name}`);
    }
  }

  /** @param {Message} m @param {boolean} follows @returns {Command | undefined} */
  delta(m, follows) {
    if (!this.book || !follows || this.book.generation !== m.msg.generation) {
      this.book = null;
      if (this.asked) return; // its snapshot is on the way
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
