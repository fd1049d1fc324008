// An agent without a model: it trades one round over MCP and prints the result. It follows
// the steps of the venue's prompt trade_round; view() replaces the judgment of a model by
// one rule.
//
//	node agent.mjs [--rounds N] [MARKET_ID]
//
// N is 1 by default; 0 trades until the process is stopped.

import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const SECOND = 1_000_000_000n;
const QTY = 5; // contracts
const LOSS = 50_000n; // maximum loss in one round, in pips: $5
const TRIES = 8;
const timeout = Number(process.env.DX_TIMEOUT || 60) * 1000; // of a call, ms; in the arena it waits for its turn

/** @typedef {{ market_id: number, generation: number, close_ts: string, yes_bid: number, yes_ask: number }} Market */
/** @typedef {{ seq: string, kind: string, msg: any }} Event */

/** A call that the venue rejected. `result` says why, and how to correct it. */
class ToolError extends Error {
  /** @param {string} tool @param {any} result */
  constructor(tool, result) {
    super(`${tool}: ${result.error.code}: ${result.hint}`);
    this.result = result;
  }
}

class Agent {
  /** @param {Client} client */
  constructor(client) {
    this.client = client;
    /** The rounds that were traded, by market and generation. @type {Set<string>} */
    this.traded = new Set();
  }

  /**
   * use calls a tool. It repeats a call that is retryable, and one whose outcome is unknown:
   * an order cannot be placed twice with the same client_order_id.
   * @param {string} tool @param {Record<string, unknown>} given @returns {Promise<any>}
   */
  async use(tool, given = {}) {
    for (let attempt = 1; ; attempt++) {
      const error = await this.client.callTool({ name: tool, arguments: given }, { timeout }).then(
        (/** @type {any} */ { isError, structuredContent }) => (isError ? new ToolError(tool, structuredContent) : { done: structuredContent }),
        (e) => e,
      );
      if (!(error instanceof Error)) return error.done;
      if (error instanceof ToolError && error.result.replayed && error.result.order) { // placed by a call whose answer was lost
        return { ...error.result.order, seq: error.result.order.created_seq };
      }
      const { retryable, outcome, retry_after_ms: rest = 250 * attempt } = error instanceof ToolError ? error.result : { retryable: refused(error) };
      if (attempt === TRIES || (!retryable && outcome !== "unknown")) throw error;
      await new Promise((done) => setTimeout(done, rest));
    }
  }

  /**
   * market returns the round to trade: the requested one, or else the one that ends first
   * among those with enough time left and offers on both sides.
   * @param {number} wanted @returns {Promise<Market>}
   */
  async market(wanted) {
    for (;;) {
      const { time } = await this.use("get_venue");
      const { markets, as_of_seq: seen } = await this.use("list_markets", { status: "trading" });
      const until = BigInt(time.venue_time) + 15n * SECOND; // as close_ts, also in the arena
      const open = markets
        .filter((/** @type {Market} */ m) => (wanted ? m.market_id === wanted : m.yes_bid && m.yes_ask) && BigInt(m.close_ts) > until && !this.traded.has(roundId(m)))
        .sort((/** @type {Market} */ a, /** @type {Market} */ b) => Number(BigInt(a.close_ts) - BigInt(b.close_ts)));
      if (open.length > 0) {
        this.traded.add(roundId(open[0]));
        return open[0];
      }
      await this.use("wait_for_event", { after_seq: seen, kinds: ["round"] });
    }
  }

  /**
   * view is where a model would decide. This rule expects the price to end on the side of
   * the strike where the index is now. ask is the best offer of that outcome.
   * @param {Market} market
   */
  async view({ market_id }) {
    const round = await this.use("get_round", { market_id });
    const index = await this.use("get_oracle_price", { feed: Math.floor((round.category - 1) / 3) });
    const book = await this.use("get_orderbook", { market_id, depth: 1 });
    const outcome = BigInt(index.price) > BigInt(round.strike) ? "yes" : "no";
    const [bid] = outcome === "yes" ? book.no : book.yes;
    console.log(`market    ${market_id}: index ${indexPrice(index.price)}, strike ${indexPrice(round.strike)}`);
    return { outcome, ask: bid && 10_000 - bid[0] };
  }

  /**
   * trade trades one round, from choosing it to its settlement.
   * @param {number} wanted
   */
  async trade(wanted) {
    const market = await this.market(wanted);
    const { outcome, ask } = await this.view(market);
    if (!ask) return console.log(`no offer  of ${outcome}; no trade`);
    const order = {
      // The agent places one order at a time, so the venue's time is free as an id. It makes the
      // agent's orders the same whenever a seed of the arena is repeated.
      client_order_id: (await this.use("get_venue")).time.venue_time,
      market_id: market.market_id, generation: market.generation, // this round only
      side: "buy", outcome, tick: ask, qty: QTY, tif: "ioc",
    };
    const preview = await this.use("preview_order", order).catch((e) => {
      if (!(e instanceof ToolError)) throw e;
      console.log(`no trade  ${e.message}`); // such as without enough money: the next round may suit
    });
    if (!preview) return;
    console.log(`preview   ${QTY} ${outcome} at ${ask} pips: ${preview.status}, fee ${dollars(preview.fee)}, maximum loss ${dollars(preview.worst_loss)}, maximum payout ${dollars(preview.best_payout)}`);
    if (preview.status === "canceled" || BigInt(preview.worst_loss) > LOSS) return console.log("no trade");
    const placed = await this.use("place_order", order);
    if (placed.status === "waiting") return console.log(`waiting   the owner decides at ${placed.approve_url}`); // above ask_above of the mandate
    console.log(`placed    ${placed.order_id}: ${placed.status}, ${placed.filled_qty} filled`);
    if (placed.filled_qty > 0) await this.settled(market, placed);
  }

  /**
   * settled follows a round to its end and prints what the order paid.
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
    for (const fill of fills) cost += BigInt(fill.cost);
    const { cash } = await this.use("get_balance");
    console.log(`settled   ${winner ?? "void"}: paid ${dollars(payout)} for ${dollars(cost)}; free cash is ${dollars(cash)}`);
  }
}

/**
 * Tells whether a read was not executed because the venue is busy or starting: such a protocol
 * error has the HTTP status as its code.
 * @param {any} error
 */
const refused = ({ code }) => code === 429 || code === 503;

/** @param {Market} market */
const roundId = ({ market_id, generation }) => `${market_id}/${generation}`;

/** Formats pips as dollars. @param {string | bigint} pips */
const dollars = (pips) => `$${(Number(pips) / 10_000).toFixed(4)}`;

/** Formats an index price at 1e8 scale. @param {string} price */
const indexPrice = (price) => (Number(BigInt(price) / 1_000_000n) / 100).toFixed(2);

const { values, positionals } = parseArgs({ options: { rounds: { type: "string", default: "1" } }, allowPositionals: true });
const rounds = Number(values.rounds);
// The arena gives its seats the command of the bridge in DX_MCP, quoted as for a shell.
const words = process.env.DX_MCP?.match(/(?:'[^']*'|\\.|[^\s'\\])+/g)?.map((w) => w.replace(/'([^']*)'|\\(.)/g, "$1$2"));
const [command, ...args] = words ?? [process.env.DX ?? "dx", "mcp"];
const client = new Client({ name: "duplex-agent", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
try {
  const agent = new Agent(client);
  for (let n = 0; rounds === 0 || n < rounds; n++) await agent.trade(Number(positionals[0] ?? 0));
} finally {
  await client.close();
}
