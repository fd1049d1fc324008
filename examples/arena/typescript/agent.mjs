// @ts-check
// An agent with a model: it looks, asks the model, checks the answer, trades, forecasts and waits,
// until it is stopped. It runs as a seat of an arena and on a live venue.
//
//	DX_URL=... DX_KEY=... DX_SECRET=... [MODEL=stub|anthropic|openai] node agent.mjs
import { pathToFileURL } from "node:url";
import { ask, fromEnvironment } from "./models.mjs";
import { Rejected, Tools } from "./venue.mjs";

/** @typedef {import("./decision.mjs").View} View */
/** @typedef {import("./decision.mjs").Decision} Decision */
/** @typedef {import("./decision.mjs").Model} Model */
/** @typedef {{ market_id: number, generation: number, round_number: string, strike: string, secs_to_close: number, paused: boolean, yes_bid: number, yes_ask: number }} Live */
/** @typedef {{ use(name: string, given?: Record<string, unknown>): Promise<any>, report(usage: import("./decision.mjs").Usage): Promise<void> }} Caller */

const SECOND = 1_000_000_000n;

/** The agent's own bounds. No answer of a model can exceed them. */
export const BOUNDS = {
  category: 1, // the series: 1 is BTC in rounds of a minute
  qty: 10, // contracts of an order
  held: 20, // contracts of a round
  lossPips: 60_000n, // worst_loss of an order: $6
  everySecs: 15, // between two decisions in a round
  lastSecs: 8, // no decision later than this before the close
  indexAgeNs: 3_000_000_000n, // no order while the index is older
};

export class Agent {
  /**
   * @param {Caller} tools @param {Model} model @param {AbortSignal} signal
   * @param {{ bounds?: Partial<typeof BOUNDS>, limits?: Partial<import("./models.mjs").Limits>, log?: (line: string) => void }} [options]
   */
  constructor(tools, model, signal, { bounds, limits, log = console.log } = {}) {
    this.tools = tools;
    this.model = model;
    this.signal = signal;
    this.bounds = { ...BOUNDS, ...bounds };
    this.limits = limits;
    this.log = log;
    this.ending = false;
    this.lastId = 0n;
    this.now = 0n; // the venue's time at the last look, ns
    this.decided = { round: "", at: 0n };
  }

  /** Runs until the signal, or until end has been called and nothing is held. */
  async run() {
    try {
      while (!this.signal.aborted && !(this.ending && (await this.holdsNothing()))) await this.turn();
    } catch (e) {
      // Otherwise the venue rejects the key, or is away.
      if (!this.signal.aborted && !this.ending) throw e;
    }
  }

  /** Places no further order. */
  end() {
    this.ending = true;
  }

  async holdsNothing() {
    return (await this.tools.use("get_pnl")).positions.length === 0;
  }

  /** One look, a decision if one is due, and a wait. */
  async turn() {
    const { category, everySecs } = this.bounds;
    const { time } = await this.tools.use("get_venue");
    this.now = BigInt(time.venue_time); // as the times of rounds and prices, also in the arena
    const { series: [series], as_of_seq } = await this.tools.use("list_series", { category });
    /** @type {Live | null} */
    const live = series?.live ?? null;
    if (!this.ending && live && this.due(live) && live.yes_bid + live.yes_ask > 0 && !live.paused) await this.decide(series, live);
    const left = live && !this.due(live) && live.secs_to_close >= this.bounds.lastSecs ? everySecs - Number((this.now - this.decided.at) / SECOND) : 2;
    // The start and the end of a round end the wait early.
    await this.tools.use("wait_for_event", { after_seq: as_of_seq, kinds: ["round"], timeout_ms: Math.min(Math.max(left, 1), 25) * 1000 });
  }

  /** Tells whether a decision is due. @param {Live} live */
  due({ round_number, secs_to_close }) {
    // Stamps of one instant differ by some nanoseconds.
    const again = this.now + SECOND / 1000n >= this.decided.at + BigInt(this.bounds.everySecs) * SECOND;
    return secs_to_close >= this.bounds.lastSecs && (round_number !== this.decided.round || again);
  }

  /** Reads the market, asks the model, submits its forecast and trades. @param {{ feed: number }} series @param {Live} live */
  async decide({ feed }, live) {
    const index = await this.tools.use("get_oracle_price", { feed });
    if (this.now - BigInt(index.ts) > this.bounds.indexAgeNs) return; // nobody knows what YES is worth
    const view = await this.look(feed, index, live);
    this.decided = { round: live.round_number, at: this.now };
    const decision = await ask(this.model, view, this.signal, this.limits);
    for (const usage of this.model.used?.splice(0) ?? []) await this.orNothing("report", () => this.tools.report(usage));
    if (!decision) return this.log(`no answer round ${live.round_number}; no trade`);
    await this.forecast(live, decision);
    if (!this.ending) await this.trade(live, view, decision);
  }

  /**
   * Reads what a model decides about.
   * @param {number} feed @param {{ price: string }} index @param {Live} live @returns {Promise<View>}
   */
  async look(feed, index, live) {
    const { volatility_ppb } = await this.tools.use("get_price_history", { feed, limit: 100 });
    const { cash } = await this.tools.use("get_balance");
    const { equity, positions } = await this.tools.use("get_pnl");
    const held = { yes: 0, no: 0 };
    for (const p of positions) {
      if (p.market_id === live.market_id && p.generation === live.generation) held[/** @type {"yes" | "no"} */ (p.outcome)] += p.qty;
    }
    const yes = { bid: live.yes_bid, ask: live.yes_ask };
    return {
      round: live.round_number, seconds_to_close: live.secs_to_close,
      index: Number(index.price) / 1e8, strike: Number(live.strike) / 1e8, volatility_ppb: Number(volatility_ppb),
      // A buyer of NO takes the best bid for YES.
      yes, no: { bid: yes.ask && 10_000 - yes.ask, ask: yes.bid && 10_000 - yes.bid },
      held, cash: Number(cash), equity: Number(equity), max_qty: Math.max(0, Math.min(this.bounds.qty, this.bounds.held - held.yes - held.no)),
    };
  }

  /** @param {Live} live @param {Decision} decision */
  async forecast({ market_id, generation }, { p_yes }) {
    await this.orNothing("forecast", () => this.tools.use("submit_forecast", { market_id, generation, p: p_yes }));
  }

  /**
   * Places the order of a decision, at the best offer and if the preview agrees.
   * @param {Live} live @param {View} view @param {Decision} decision
   */
  async trade(live, view, decision) {
    const { action, max_price, qty } = decision;
    if (action === "hold") return this.log(`hold      round ${live.round_number}, YES ${decision.p_yes}`);
    const outcome = action === "buy_yes" ? "yes" : "no";
    const tick = view[outcome].ask; // an offer is on the venue's grid of prices; a model's price may not be
    if (tick === 0 || tick > max_price) return this.log(`no offer  of ${outcome} up to ${max_price}; no trade`);
    const order = {
      client_order_id: this.nextId(), // before the first attempt, and the same in each
      market_id: live.market_id, generation: live.generation, // this round only
      side: "buy", outcome, tick, qty, tif: "ioc",
    };
    const preview = await this.orNothing("preview", () => this.tools.use("preview_order", order));
    if (!preview) return;
    if (preview.status === "canceled" || BigInt(preview.worst_loss) > this.bounds.lossPips) return this.log(`no trade  ${preview.status}, worst loss ${preview.worst_loss} pips`);
    const placed = await this.orNothing("order", () => this.tools.use("place_order", order));
    if (placed?.status === "waiting") return this.log(`waiting   for the owner, until ${placed.expires_ts}`); // above ask_above of the mandate
    if (placed) this.log(`placed    ${placed.order_id}: ${qty} ${outcome} at ${tick}, ${placed.filled_qty} filled`);
  }

  /** Ids rise with the venue's time, also after a restart, and are the same whenever a seed of the arena is repeated. */
  nextId() {
    this.lastId = this.now > this.lastId ? this.now : this.lastId + 1n;
    return String(this.lastId);
  }

  /**
   * Returns the answer to a call, or null if the venue rejected it or does not answer: the next
   * look shows what is held. If an earlier attempt placed the order, returns that order.
   * @param {string} what @param {() => Promise<any>} call
   */
  async orNothing(what, call) {
    try {
      return await call();
    } catch (e) {
      if (e instanceof Rejected && e.code === "unauthorized") throw e;
      if (e instanceof Rejected && e.code === "duplicate_client_order_id" && e.result?.replayed) return e.result.order;
      this.log(`no ${what.padEnd(8)} ${e instanceof Error ? e.message : e}`);
      return null;
    }
  }
}

async function main() {
  const { DX_URL: url, DX_KEY: key, DX_SECRET: secret } = process.env;
  if (!url || !key || !secret) throw new Error("DX_URL, DX_KEY and DX_SECRET: the venue and the key");
  const model = fromEnvironment(process.env);
  const everySecs = Number(process.env.EVERY_SECS || BOUNDS.everySecs);
  if (!Number.isInteger(everySecs) || everySecs < 1) throw new Error("EVERY_SECS: whole seconds between two decisions");
  const stopped = new AbortController();
  const tools = new Tools({ url, key, secret }, stopped.signal, { timeoutMs: Number(process.env.DX_TIMEOUT || 120) * 1000 });
  const agent = new Agent(tools, model, stopped.signal, { bounds: { everySecs } });
  for (const name of ["SIGINT", "SIGTERM"]) {
    process.on(name, () => {
      if (agent.ending) stopped.abort(); // the second signal ends it at once
      agent.end();
      tools.tries = 3; // at the end of a run the venue ends, too
    });
  }
  await agent.run();
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main().catch((e) => {
    console.error(e instanceof Error ? e.message : e);
    process.exitCode = 1;
  });
}
