// Runs the built package against the dev venue that DX_DEV_FILE describes: node --test.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import net from "node:net";
import { test } from "node:test";
import { Client, clientOrderId, Stream, UnknownOutcome, VenueError } from "duplex-client";

const dev = JSON.parse(await readFile(process.env.DX_DEV_FILE, "utf8"));
const account = dev.accounts.find((a) => a.name === "trader");
const venue = [dev.api, account.api_key, account.secret];

// order returns an order in a market that does not close within the test.
const order = async (client) => {
  let market;
  for (let i = 0; i < 300 && !market; i++) {
    const { markets } = await client.call("GET", "/v1/markets?status=trading");
    market = markets.find((m) => m.secs_to_close > 60);
    if (!market) await new Promise((wake) => setTimeout(wake, 1000)); // all rounds end at a quarter of an hour
  }
  return { market_id: market.market_id, outcome: "yes", side: "buy", tick: 100, qty: 1, client_order_id: String(BigInt(Date.now()) * 1000000n + BigInt(Math.floor(Math.random() * 1e6))) };
};
const code = (name) => (e) => e instanceof VenueError && e.code === name;

test("a lost response places once", async () => {
  let lost;
  class Lossy extends Client {
    async send(transport, method, ...rest) {
      const out = await super.send(transport, method, ...rest);
      if (method !== "POST" || lost) return out;
      lost = out;
      throw new TypeError("the response is lost");
    }
  }
  const client = new Lossy(...venue);
  const o = await order(client);
  assert.equal((await client.place(o)).order_id, lost.order_id);
  await assert.rejects(client.place(o), code("duplicate_client_order_id"));
  await client.call("DELETE", `/v1/portfolio/orders/${lost.order_id}`);
});

test("an order that waits for the owner", async () => {
  const portal = async (method, path, body) => {
    const response = await fetch(dev.portal + path, { method, headers: { Authorization: `Bearer ${account.account_token}`, "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return response.json();
  };
  const { user_id } = await portal("POST", "/agents", { name: `ts-${process.hrtime.bigint()}`, fund: "100000", mandate: { ask_above: "0" } });
  const { api_key, secret } = await portal("POST", `/agents/${user_id}/keys`, { label: "test", scopes: ["read", "trade"] });
  let lose = false;
  class Lossy extends Client {
    async send(transport, method, ...rest) {
      const out = await super.send(transport, method, ...rest);
      if (method !== "POST" || !lose) return out;
      lose = false;
      throw new TypeError("the response is lost");
    }
  }
  const client = new Lossy(dev.api, api_key, secret);
  const first = await order(client);
  const waits = await client.place(first);
  assert.equal(waits.status, "waiting");
  assert.ok(waits.approve_url.endsWith(`/#/approvals/${waits.approval_id}`));
  lose = true;
  const found = await client.place(await order(client));
  assert.equal(found.status, "waiting");
  const listed = [];
  for await (const { approval_id } of client.allApprovals({ status: ["waiting"], limit: 1 })) listed.push(approval_id);
  assert.deepEqual(listed, [found.approval_id, waits.approval_id]);
  const { approval } = await portal("POST", `/approvals/${waits.approval_id}/approve`);
  assert.equal((await client.find(first.client_order_id)).order_id, approval.order_id);
  await portal("POST", `/approvals/${found.approval_id}/reject`);
  let third;
  for await (const { type, msg } of new Stream(client, ["user"])) {
    if (type === "user_snapshot") {
      assert.deepEqual(msg.approvals, []);
      third = await client.place(await order(client));
    }
    if (type !== "user" || msg.event !== "approval") continue;
    assert.equal(msg.approval.approval_id, third.approval_id);
    break;
  }
});

test("a lost cancel is an unknown outcome", async () => {
  let lost = 0;
  class Lossy extends Client {
    async send(transport, method, ...rest) {
      const out = await super.send(transport, method, ...rest);
      if (method !== "DELETE") return out;
      lost++;
      throw new TypeError("the response is lost");
    }
  }
  const client = new Lossy(...venue);
  const { order_id } = await client.place(await order(client));
  await assert.rejects(client.call("DELETE", `/v1/portfolio/orders/${order_id}`), UnknownOutcome);
  assert.equal(lost, 1); // the repeat found no open order
  await assert.rejects(client.call("DELETE", `/v1/portfolio/orders/${order_id}`), code("unknown_order"));
});

test("a lost batch is an unknown outcome; a shed request is repeated", async () => {
  let shed = 0;
  class Bad extends Client {
    async send(transport, method, ...rest) {
      if (method === "POST") throw new TypeError("lost");
      if (!shed++) throw new VenueError(503, { code: "shed", origin: "gateway", details: null });
      return super.send(transport, method, ...rest);
    }
  }
  const client = new Bad(...venue);
  await assert.rejects(client.call("POST", "/v1/portfolio/orders/batch", { orders: [] }), UnknownOutcome);
  assert.ok((await client.call("GET", "/v1/portfolio/balance")).cash);
});

test("a wrong secret", async () => {
  const client = new Client(venue[0], venue[1], "00".repeat(32));
  await assert.rejects(client.call("GET", "/v1/time"), code("unauthorized"));
  await assert.rejects(new Stream(client, ["user"])[Symbol.asyncIterator]().next(), code("unauthorized"));
});

test("a clock that is a minute wrong", async () => {
  for (const ahead of [-60_000, 60_000]) {
    const client = new Client(...venue);
    client.platform = { ...client.platform, wall: () => Date.now() + ahead };
    assert.ok((await client.call("GET", "/v1/portfolio/balance")).cash);
    assert.ok(Math.abs(client.now() - Date.now()) < 30_000);
    const stream = new Stream(client, ["user"]);
    for await (const { type } of stream) if (type === "user_snapshot") break;
  }
});

test("an order with a text for its id: found, replaced, listed, canceled", async () => {
  const client = new Client(...venue);
  const id = `an order of ${process.hrtime.bigint()}`;
  const placed = await client.place({ ...(await order(client)), client_order_id: id });
  assert.equal(placed.client_order_id, await clientOrderId(id));
  assert.equal((await client.find(id)).order_id, placed.order_id);
  const { order_id } = await client.replace(placed.order_id, { client_order_id: `${id}, better`, tick: 110 });
  const ids = [];
  for await (const row of client.allOrders({ status: ["resting"], limit: 1 })) ids.push(row.order_id);
  assert.ok(ids.includes(order_id) && !ids.includes(placed.order_id));
  await client.cancelByClientOrderId(`${id}, better`);
  await assert.rejects(client.cancel(order_id), code("unknown_order"));
  assert.equal(await client.find(`${id}, never placed`), undefined);
  const [a, b] = await client.placeBatch([{ ...(await order(client)), client_order_id: `${id} a` }, { ...(await order(client)), qty: 0, client_order_id: `${id} b` }]);
  assert.equal(a.status, "resting");
  assert.equal(b.error.code, "bad_qty");
  await client.cancelAll();
});

test("two sides of a quote: placed, kept, canceled", async () => {
  const client = new Client(...venue);
  const { market_id } = await order(client);
  const { generation } = await client.call("GET", `/v1/markets/${market_id}`);
  const id = `a quote of ${process.hrtime.bigint()}`;
  const quote = { market_id, generation, group_id: 7, bid: { client_order_id: `${id}, bid`, tick: 100, qty: 2 }, ask: { client_order_id: `${id}, ask`, tick: 9900, qty: 2 } };
  const [first] = await client.putQuotes([quote]);
  assert.equal(first.bid.client_order_id, await clientOrderId(`${id}, bid`));
  assert.deepEqual([first.bid.status, first.ask.status, first.bid.kept], ["resting", "resting", false]);
  const [second] = await client.putQuotes([{ ...quote, bid: { ...quote.bid, client_order_id: `${id}, less`, qty: 1 }, ask: null }]);
  assert.deepEqual([second.bid.order_id, second.bid.kept, second.bid.resting_qty, second.ask.canceled], [first.bid.order_id, true, 1, 1]);
  const [third] = await client.putQuotes([{ ...quote, bid: null, ask: null }]);
  assert.deepEqual([third.bid.canceled, third.ask.canceled], [1, 0]);
});

test("every list answers", async () => {
  const client = new Client(...venue);
  const { market_id } = await order(client);
  const lists = [client.allOrders(), client.allFills(), client.allPositions(), client.allSettlements(), client.allLedger(), client.allPortfolioRounds(), client.allForecasts(), client.allDeposits(), client.allWithdrawals(), client.allMarkets(), client.allTrades(market_id), client.allRounds(), client.allPrices({ feed: 0 }), client.allRoundRows(market_id)];
  for (const list of lists) await list.next();
});

test("a stream keeps the books that REST reads", async () => {
  const client = new Client(...venue);
  const { market_id, ...rest } = await order(client);
  const stream = new Stream(client, ["orderbook_delta"], [market_id]);
  assert.equal(stream.book(market_id), undefined);
  let placed;
  for await (const { type } of stream) {
    if (type === "orderbook_snapshot" && !placed) placed = await client.place({ market_id, ...rest });
    const book = stream.book(market_id);
    if (placed && book && BigInt(book.seq) >= BigInt(placed.seq)) {
      assert.ok(book.yes.some(([tick, qty]) => tick === 100 && qty >= 1));
      break;
    }
  }
  assert.equal(stream.book(market_id), undefined); // nobody keeps it now
  await client.cancel(placed.order_id);
});

test("a stream resumes", async () => {
  const client = new Client(...venue);
  const stream = new Stream(client, ["orderbook_delta", "user"]);
  const first = new Set();
  let o, placed, resumed;
  for await (const { type, msg } of stream) {
    first.add(type);
    if (type === "subscribed" && msg.channel === "user") resumed = msg.resumed;
    if (!o && first.has("orderbook_snapshot") && first.has("user_snapshot")) {
      stream.reconnect();
      o = await order(client);
      placed = await client.place(o);
    }
    if (o && type === "user" && msg.order?.client_order_id === o.client_order_id) break;
  }
  assert.equal(resumed, true);
  await client.call("DELETE", `/v1/portfolio/orders/${placed.order_id}`);
});

test("a stream that was left is iterated again", async () => {
  const stream = new Stream(new Client(...venue), ["user"]);
  let resumed;
  for await (const { type } of stream) if (type === "user_snapshot") break;
  for await (const { type, msg } of stream) {
    if (type === "subscribed") {
      resumed = msg.resumed;
      break;
    }
  }
  assert.equal(resumed, true);
});

test("a stream survives a venue that is away", async () => {
  let away = 2;
  class Away extends Client {
    async send(...request) {
      if (away-- > 0) throw new TypeError("connection refused");
      return super.send(...request);
    }
  }
  const stream = new Stream(new Away(...venue), ["user"]);
  for await (const { type } of stream) if (type === "user_snapshot") break;
  assert.ok(away < 0);
});

test("a stream that is closed while it connects ends", async () => {
  let stream;
  class Closing extends Client {
    async send(...request) {
      stream.close();
      return super.send(...request);
    }
  }
  stream = new Stream(new Closing(...venue), ["user"]);
  assert.equal((await stream[Symbol.asyncIterator]().next()).done, true);
});

test("a stream refuses an unknown channel", async () => {
  const stream = new Stream(new Client(...venue), ["ticker"]);
  await assert.rejects(stream[Symbol.asyncIterator]().next(), code("unknown_channel"));
});

// freezer is a proxy to the venue whose connections can be frozen: they stay open, and pass nothing on.
const freezer = async () => {
  const [frozen, sockets] = [[], []];
  const server = net.createServer((near) => {
    const far = net.connect(Number(new URL(venue[0]).port), "127.0.0.1");
    let passes = true;
    frozen.push(() => (passes = false));
    sockets.push(near, far);
    for (const [from, to] of [[near, far], [far, near]]) {
      from.on("data", (b) => passes && to.write(b));
      from.on("error", () => {});
      from.on("close", () => to.destroy());
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, freeze: () => frozen.splice(0).forEach((f) => f()), close: () => [server.close(), ...sockets.map((x) => x.destroy())] };
};

test("a stream leaves a connection that is silent", async () => {
  const proxy = await freezer();
  const lines = [];
  const client = new Client(proxy.url, venue[1], venue[2], { log: (line) => lines.push(line) });
  const types = [];
  for await (const { type, msg } of new Stream(client, ["user"], [], { silence: 3000 })) {
    types.push(type);
    if (types.length === 2) proxy.freeze();
    if (type === "subscribed" && types.length > 2) {
      assert.equal(msg.resumed, true);
      break;
    }
  }
  assert.deepEqual(types.slice(0, 2), ["subscribed", "user_snapshot"]);
  assert.match(lines[0], /nothing arrived for 3000 ms$/);
  proxy.close();
});
