// An agent without a model: it trades one round over MCP, and tells what came of it.
// The steps are those of the venue's prompt trade_round; what a model would have to
// judge is one rule in view().
//
//	node agent.mjs [MARKET_ID]

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const SECOND = 1_000_000_000n;
const QTY = 5; // contracts
const LOSS = 50_000n; // pips, the most that one round may lose: 5 dollars
const TRIES = 5;

/** @typedef {{ market_id: number, generation: number, close_ts: string, yes_bid: number, yes_ask: number }} Market */
/** @typedef {{ seq: string, kind: string, msg: any }} Event */

/** A call that the venue refused; `refusal` says why and what would be right. */
class Refused extends Error {
  /** @param {string} tool @param {any} refusal */
  constructor(tool, refusal) {
    super(`${tool}: ${refusal.error.code}: ${refusal.hint}`);
    this.refusal = refusal;
  }
}

class Agent {
  /** @param {Client} client */
  constructor(client) {
    this.client = client;
  }

  /**
   * use calls a tool. What the venue says may be tried again is tried again, and so is
   * what it does not know the end of: an order cannot be placed twice under one
   * client_order_id.
   * @param {string} tool @param {Record<string, unknown>} given @returns {Promise<any>}
   */
  async use(tool, given = {}) {
    for (let attempt = 1; ; attempt++) {
      const { isError, structuredContent } = await this.client.callTool({ name: tool, arguments: given });
      if (!isError) return structuredContent;
      const refused = new Refused(tool, structuredContent);
      const { retryable, outcome, retry_after_ms: rest = 250 } = refused.refusal;
      if (attempt === TRIES || (!retryable && outcome !== "unknown")) throw refused;
      await new Promise((done) => setTimeout(done, rest));
    }
  }

  /**
   * market finds the round to trade: the one asked for, or the first to end of those
   * that leave time to think and have offers on both sides.
   * @param {number} wanted @returns {Promise<Market>}
   */
  async market(wanted) {
    for (;;) {
      const { time } = await this.use("get_venue");
      const { markets, as_of_seq: seen } = await this.use("list_markets", { status: "trading" });
      const until = BigInt(time.server_time) + 15n * SECOND;
      const open = markets
        .filter((/** @type {Market} */ m) => (wanted ? m.market_id === wanted : m.yes_bid && m.yes_ask) && BigInt(m.close_ts) > until)
        .sort((/** @type {Market} */ a, /** @type {Market} */ b) => Number(BigInt(a.close_ts) - BigInt(b.close_ts)));
      if (open.length > 0) return open[0];
      await this.use("wait_for_event", { after_seq: seen, kinds: ["round"] });
    }
  }

  /**
   * view is where a model would think. Here the index says: above the strike it ends
   * above. The price is what the other side of the book asks for that outcome.
   * @param {Market} market
   */
  async view({ market_id }) {
    const round = await this.use("get_round", { market_id });
    const index = await this.use("get_oracle_price", { feed: Math.floor((round.category - 1) / 3) });
    const book = await this.use("get_orderbook", { market_id, depth: 1 });
    const outcome = BigInt(index.price) > BigInt(round.strike) ? "yes" : "no";
    const [bid] = outcome === "yes" ? book.no : book.yes;
    console.log(`market    ${market_id}: index ${dollars(index.price)}, strike ${dollars(round.strike)}`);
    return { outcome, ask: bid && 10_000 - bid[0] };
  }

  /**
   * trade does one round, from a look at it to its settlement.
   * @param {number} wanted
   */
  async trade(wanted) {
    const market = await this.market(wanted);
    const { outcome, ask } = await this.view(market);
    if (!ask) return console.log(`nobody    offers ${outcome}; no trade`);
    const order = {
      client_order_id: String(BigInt(Date.now()) * 1_000_000n + process.hrtime.bigint() % 1_000_000n),
      market_id: market.market_id, generation: market.generation, // this round and no later one
      side: "buy", outcome, tick: ask, qty: QTY, tif: "ioc",
    };
    const preview = await this.use("preview_order", order);
    console.log(`preview   ${QTY} ${outcome} at ${ask}: ${preview.status}, fee ${preview.fee}, may lose ${preview.worst_loss}, may pay ${preview.best_payout} pips`);
    if (preview.status === "canceled" || BigInt(preview.worst_loss) > LOSS) return console.log("no trade");
    const placed = await this.use("place_order", order);
    console.log(`placed    ${placed.order_id}: ${placed.status}, ${placed.filled_qty} filled`);
    if (placed.filled_qty > 0) await this.settled(market, placed);
  }

  /**
   * settled follows a round to its end and tells what the order paid.
   * @param {Market} market @param {{ order_id: string, seq: string }} placed
   */
  async settled({ market_id, generation }, { order_id, seq }) {
    for (let after = seq; ; ) {
      const { events, next_seq } = await this.use("wait_for_event", { after_seq: after, kinds: ["round", "settlement"], market_ids: [market_id] });
      for (const { kind, msg } of /** @type {Event[]} */ (events)) {
        if (msg.generation !== generation) continue;
        if (kind === "round") console.log(`round     ${msg.status}`);
        if (kind === "settlement") return this.report(order_id, msg);
      }
      after = next_seq;
    }
  }

  /** @param {string} order_id @param {{ winner: string | null, payout: string }} settlement */
  async report(order_id, { winner, payout }) {
    const { fills } = await this.use("list_fills", { order_id });
    let cost = 0n;
    for (const f of fills) cost += BigInt(f.qty * (f.outcome === "yes" ? f.tick_yes : 10_000 - f.tick_yes)) + BigInt(f.fee);
    const { cash } = await this.use("get_balance");
    console.log(`settled   ${winner ?? "void"}: paid ${payout} for ${cost} pips; free cash is ${cash}`);
  }
}

/** dollars shows a price at 1e8. @param {string} price */
const dollars = (price) => (Number(BigInt(price) / 1_000_000n) / 100).toFixed(2);

const client = new Client({ name: "duplex-agent", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StdioClientTransport({ command: process.env.DX ?? "dx", args: ["mcp"], env: process.env, stderr: "inherit" }));
try {
  await new Agent(client).trade(Number(process.argv[2] ?? 0));
} finally {
  await client.close();
}
