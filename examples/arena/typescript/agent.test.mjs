// @ts-check
// Tests the loop: what reaches the venue for each decision, and what happens if answers are lost.
// Run: node --test
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";
import { Agent } from "./agent.mjs";
import { BadAnswer, validate } from "./decision.mjs";
import { Rejected, Tools } from "./venue.mjs";

const NOW = 1_767_571_205_000_000_000n;

/** A venue whose answers a test may replace. @param {Record<string, (given: any, n: number) => any>} [other] */
function venue(other = {}) {
  const clock = { now: NOW };
  /** @type {[string, any][]} */
  const calls = [];
  const live = { market_id: 3, generation: 9, round_number: "7", strike: "6500000000000", secs_to_close: 40, paused: false, yes_bid: 4_800, yes_ask: 5_000 };
  /** @type {Record<string, (given: any, n: number) => any>} */
  const answers = {
    list_series: () => ({ series: [{ feed: 0, live }], as_of_seq: "50" }),
    get_oracle_price: () => ({ price: "6501000000000", ts: String(clock.now) }),
    get_price_history: () => ({ volatility_ppb: "100000" }),
    get_balance: () => ({ cash: "1000000" }),
    get_pnl: () => ({ equity: "1000000", positions: [] }),
    get_venue: () => ({ time: { server_time: "1", venue_time: String(clock.now) } }),
    submit_forecast: () => ({ n: "1" }),
    preview_order: () => ({ status: "executed", worst_loss: "20250" }),
    place_order: () => ({ order_id: "51", status: "executed", filled_qty: 4 }),
    wait_for_event: () => ({ events: [], next_seq: "60" }),
    ...other,
  };
  const use = async (/** @type {string} */ name, /** @type {any} */ given) => {
    calls.push([name, given]);
    return answers[name](given, calls.filter(([other]) => other === name).length);
  };
  /** @type {any[]} */
  const reports = [];
  return { clock, calls, live, reports, tools: { use, report: async (/** @type {any} */ usage) => void reports.push(usage) }, sent: (/** @type {string} */ name) => calls.filter(([other]) => other === name).map(([, given]) => given) };
}

/** @param {ReturnType<typeof venue>} v @param {unknown} answer @param {object} [bounds] */
function agent(v, answer, bounds) {
  const model = { decide: async (/** @type {any} */ view) => validate(answer, view) };
  return new Agent(v.tools, model, new AbortController().signal, { bounds, limits: { baseMs: 1, log: () => {} }, log: () => {} });
}

const BUY = { p_yes: 6_200, action: "buy_yes", max_price: 5_300, qty: 4 };
const ORDER = { client_order_id: String(NOW), market_id: 3, generation: 9, side: "buy", outcome: "yes", tick: 5_000, qty: 4, tif: "ioc" };

test("a decision becomes a forecast and one order, at the offer", async () => {
  const v = venue();
  await agent(v, BUY).turn();
  assert.deepEqual(v.sent("submit_forecast"), [{ market_id: 3, generation: 9, p: 6_200 }]);
  assert.deepEqual(v.sent("preview_order"), [ORDER]);
  assert.deepEqual(v.sent("place_order"), [ORDER]);
  assert.deepEqual(v.sent("wait_for_event"), [{ after_seq: "50", kinds: ["round"], timeout_ms: 15_000 }]);
});

test("what an answer took is reported once, also if the answer is unusable", async () => {
  const v = venue();
  const a = agent(v, { ...BUY, qty: 0 });
  const used = { model: "m", prompt_tokens: 1, completion_tokens: 2, cost: "0.000000003" };
  a.model.used = [used];
  await a.turn();
  await a.turn();
  assert.deepEqual(v.reports, [used]);
  assert.deepEqual(v.sent("place_order"), []);
});

test("NO is bought at what YES is bid", async () => {
  const v = venue();
  await agent(v, { ...BUY, action: "buy_no" }).turn();
  assert.deepEqual(v.sent("place_order"), [{ ...ORDER, outcome: "no", tick: 5_200 }]);
});

test("hold is a forecast without an order", async () => {
  const v = venue();
  await agent(v, { p_yes: 6_200, action: "hold" }).turn();
  assert.equal(v.sent("submit_forecast").length, 1);
  assert.equal(v.sent("preview_order").length + v.sent("place_order").length, 0);
});

for (const bad of [null, "buy", [], {}, { ...BUY, qty: 11 }, { ...BUY, qty: "4" }, { ...BUY, max_price: Number.NaN }, { ...BUY, p_yes: 1e9 }, { ...BUY, action: "toString" }, { ...BUY, tick: 1 }]) {
  test(`no call changes anything after the answer ${JSON.stringify(bad)}`, async () => {
    const v = venue();
    await agent(v, bad).turn();
    assert.deepEqual(v.calls.map(([name]) => name).filter((name) => !/^(list|get)_/.test(name)), ["wait_for_event"]);
  });
}

test("a model that throws what it likes ends nothing", async () => {
  const v = venue();
  const model = { decide: async () => { throw null; } };
  await new Agent(v.tools, model, new AbortController().signal, { limits: { log: () => {} }, log: () => {} }).turn();
  assert.equal(v.sent("place_order").length, 0);
  assert.equal(v.sent("wait_for_event").length, 1);
});

/** @type {[string, Record<string, (given: any, n: number) => any>, unknown][]} */
const passed = [
  ["the offer is above the price", {}, { ...BUY, max_price: 4_999 }],
  ["the preview's worst loss is above the bound", { preview_order: () => ({ status: "executed", worst_loss: "60001" }) }, BUY],
  ["the preview fills nothing", { preview_order: () => ({ status: "canceled", worst_loss: "0" }) }, BUY],
  ["the preview is rejected", { preview_order: () => { throw new Rejected("preview_order", { error: { code: "insufficient_funds" } }); } }, BUY],
  ["the index is old", { get_oracle_price: () => ({ price: "6501000000000", ts: String(NOW - 3_000_000_001n) }) }, BUY],
  ["enough is held", { get_pnl: () => ({ equity: "1", positions: [{ market_id: 3, generation: 9, outcome: "no", qty: 17 }] }) }, BUY],
  ["no round trades", { list_series: () => ({ series: [{ feed: 0, live: null }], as_of_seq: "50" }) }, BUY],
];
for (const [name, answers, decision] of passed) {
  test(`no order if ${name}`, async () => {
    const v = venue(answers);
    await agent(v, decision).turn();
    assert.equal(v.sent("place_order").length, 0);
    assert.equal(v.sent("wait_for_event").length, 1);
  });
}

test("what is held in another round does not count", async () => {
  const v = venue({ get_pnl: () => ({ equity: "1", positions: [{ market_id: 3, generation: 8, outcome: "no", qty: 20 }] }) });
  await agent(v, BUY).turn();
  assert.equal(v.sent("place_order").length, 1);
});

test("one decision in each stretch of a round, none at its end, and rising ids", async () => {
  const v = venue();
  const a = agent(v, BUY);
  for (const secs of [50, 49, 36, 35, 34, 21, 20, 19, 8, 7, 5, 0]) {
    v.live.secs_to_close = secs;
    v.clock.now = NOW + BigInt(50 - secs) * 1_000_000_000n;
    await a.turn();
  }
  Object.assign(v.live, { round_number: "8", secs_to_close: 9 });
  await a.turn();
  assert.deepEqual(v.sent("place_order").map((o) => (BigInt(o.client_order_id) - NOW) / 1_000_000_000n), [0n, 15n, 30n, 50n]);
  await a.turn();
  assert.equal(v.sent("place_order").length, 4);
  assert.equal(a.nextId(), String(BigInt(v.sent("place_order")[3].client_order_id) + 1n));
});

test("an order that waits for the owner is not called placed", async () => {
  const v = venue({ place_order: () => ({ status: "waiting", approval_id: "51", expires_ts: "300", approve_url: "http://portal/#/approvals/51" }) });
  const a = agent(v, BUY);
  /** @type {string[]} */
  const said = [];
  a.log = (line) => said.push(line);
  await a.turn();
  assert.equal(v.sent("place_order").length, 1);
  assert.ok(said.includes("waiting   for the owner, until 300"), said.join("\n"));
  assert.ok(!said.some((line) => line.startsWith("placed")), said.join("\n"));
});

test("a rejected order, and one that an earlier attempt placed, end nothing; a rejected key does", async () => {
  const first = { order_id: "51", filled_qty: 4 };
  for (const [error, goesOn] of /** @type {[any, boolean][]} */ ([
    [{ error: { code: "stale_generation" } }, true],
    [{ error: { code: "duplicate_client_order_id" }, replayed: true, order: first }, true],
    [{ error: { code: "unauthorized" } }, false],
  ])) {
    const v = venue({ place_order: () => { throw new Rejected("place_order", error); } });
    const turn = agent(v, BUY).turn();
    if (goesOn) await turn;
    else await assert.rejects(turn, Rejected);
    assert.equal(v.sent("place_order").length, 1);
  }
});

test("an agent that is asked to end buys nothing, and waits until its contracts are paid", async () => {
  const positions = [{ market_id: 3, generation: 9, outcome: "yes", qty: 4 }];
  const v = venue({ get_pnl: () => ({ equity: "1", positions }), wait_for_event: (_, n) => { if (n === 2) positions.pop(); return { events: [] }; } });
  const a = agent(v, BUY);
  a.end();
  await a.run();
  assert.equal(v.sent("wait_for_event").length, 2);
  assert.equal(v.sent("place_order").length + v.sent("submit_forecast").length, 0);
});

test("a lost answer is repeated with the same arguments; a rejection is not", async (t) => {
  /** @type {string[]} */
  const bodies = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    bodies.push(text);
    assert.equal(request.headers["mcp-protocol-version"], "2025-11-25");
    if (bodies.length === 1) return void request.socket.destroy(); // executed, and the answer is lost
    if (bodies.length === 2) {
      response.writeHead(503, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: 503, message: "shed", data: { code: "shed" } } }));
    }
    if (bodies.length === 4) {
      response.writeHead(401, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: 401, message: "unauthorized", data: { code: "unauthorized" } } }));
    }
    const result = { isError: true, structuredContent: { error: { code: "duplicate_client_order_id" }, replayed: true, order: { order_id: "51" }, retryable: false } };
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const tools = new Tools({ url: `http://127.0.0.1:${port}`, key: "k", secret: "00" }, new AbortController().signal);
  await assert.rejects(tools.use("place_order", ORDER), (e) => e instanceof Rejected && e.code === "duplicate_client_order_id" && e.result.order.order_id === "51");
  assert.equal(bodies.length, 3);
  assert.equal(new Set(bodies).size, 1);
  assert.deepEqual(JSON.parse(bodies[0]).params, { name: "place_order", arguments: ORDER });
  await assert.rejects(tools.use("get_pnl"), (e) => e instanceof Rejected && e.code === "unauthorized");
});

test("the check of an answer throws BadAnswer alone", () => {
  for (const bad of [undefined, 7, "", Symbol("x"), () => 0, new Date(), { __proto__: { ...BUY } }]) {
    assert.throws(() => validate(bad, /** @type {any} */ ({ max_qty: 10 })), BadAnswer);
  }
});
