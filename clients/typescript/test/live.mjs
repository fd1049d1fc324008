// Runs the built package against the dev venue that DX_DEV_FILE describes: node --test.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Client, Stream, UnknownOutcome, VenueError } from "duplex-client";

const dev = JSON.parse(await readFile(process.env.DX_DEV_FILE, "utf8"));
const account = dev.accounts.find((a) => a.name === "trader");
const venue = [dev.api, account.api_key, account.secret];

const order = async (client) => {
  const { markets } = await client.call("GET", "/v1/markets?status=trading");
  return { market_id: markets[0].market_id, outcome: "yes", side: "buy", tick: 100, qty: 1, client_order_id: String(BigInt(Date.now()) * 1000000n + BigInt(Math.floor(Math.random() * 1e6))) };
};
const code = (name) => (e) => e instanceof VenueError && e.code === name;

test("DX_TIMEOUT sets the default timeout", () => {
  for (const [value, given, want] of [["", [], 15_000], ["86400", [], 86_400_000], ["86400", [8, 3000], 3000], ["soon", [], 15_000]]) {
    process.env.DX_TIMEOUT = value;
    assert.equal(new Client("http://127.0.0.1:1", "key", "00", ...given).timeout, want);
  }
  delete process.env.DX_TIMEOUT;
});

test("a lost response places once", async () => {
  let lost;
  class Lossy extends Client {
    async send(method, ...rest) {
      const out = await super.send(method, ...rest);
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

test("a lost cancel is an unknown outcome", async () => {
  let lost = 0;
  class Lossy extends Client {
    async send(method, ...rest) {
      const out = await super.send(method, ...rest);
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
    async send(method, ...rest) {
      if (method === "POST") throw new TypeError("lost");
      if (!shed++) throw new VenueError(503, { code: "shed", details: null });
      return super.send(method, ...rest);
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

test("a stream survives a venue that is away", async () => {
  let away = 2;
  class Away extends Client {
    async send(...request) {
      if (away-- > 0) throw new TypeError("connection refused");
      return super.send(...request);
    }
  }
  const stream = new Stream(new Away(...venue, 1), ["user"]);
  for await (const { type } of stream) if (type === "user_snapshot") break;
  assert.ok(away < 0);
});

test("a stream refuses an unknown channel", async () => {
  const stream = new Stream(new Client(...venue), ["ticker"]);
  await assert.rejects(stream[Symbol.asyncIterator]().next(), code("unknown_channel"));
});
