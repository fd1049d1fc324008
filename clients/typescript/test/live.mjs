// Runs the built package against the dev venue that DX_DEV_FILE describes: node --test.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import net from "node:net";
import { test } from "node:test";
import { Client, Stream, UnknownOutcome, VenueError } from "duplex-client";

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

test("DX_TIMEOUT sets the default timeout", () => {
  for (const [value, given, want] of [["", [], 15_000], ["86400", [], 86_400_000], ["86400", [8, 3000], 3000], ["soon", [], 15_000], ["0", [], 15_000], ["Infinity", [], 15_000]]) {
    process.env.DX_TIMEOUT = value;
    assert.equal(new Client("http://127.0.0.1:1", "key", "00", ...given).timeout, want);
  }
  delete process.env.DX_TIMEOUT;
});

// place places an order at a venue with these answers: an error's code, undefined for a lost response, or a body.
const place = async (...answers) => {
  class Scripted extends Client {
    async send() {
      const answer = answers.shift();
      if (!answer) throw new TypeError("the response is lost");
      if (typeof answer !== "string") return answer;
      const origin = ["market_paused", "duplicate_client_order_id"].includes(answer) ? "core" : "gateway";
      throw new VenueError(answer === "upstream_timeout" ? 504 : 409, { code: answer, origin, details: { retry_after_ms: "1" } });
    }
  }
  try {
    return await new Scripted("http://127.0.0.1:1", "key", "00", 2).place({ client_order_id: "1" });
  } catch (e) {
    return e instanceof UnknownOutcome ? "unknown" : e.code;
  } finally {
    assert.equal(answers.length, 0);
  }
};

test("only the core says what became of a lost placement", async () => {
  for (const code of ["rate_limited", "shed", "draining"]) {
    assert.equal(await place(code, code), code); // nothing was lost
    assert.equal(await place(undefined, code, code), "unknown");
  }
  assert.equal(await place("unauthorized"), "unauthorized");
  assert.equal(await place("sequencing_timeout", "unauthorized"), "unknown");
  assert.equal(await place(undefined, undefined), "unknown");
  assert.equal(await place("upstream_timeout", "upstream_timeout"), "unknown"); // a code that the client does not know
  assert.equal(await place(undefined, "market_paused"), "market_paused");
});

test("an error of a proxy says nothing of a placement", async (t) => {
  for (const body of ['{"error":"timeout"}', '{"error":{"code":"504"}}', '{"error":{"code":504,"origin":"edge"}}', "null"]) {
    t.mock.method(globalThis, "fetch", async () => new Response(body, { status: 504 }));
    await assert.rejects(new Client("http://127.0.0.1:1", "key", "00", 1).place({ client_order_id: "1" }), UnknownOutcome);
    t.mock.restoreAll();
  }
});

test("what a restart executes twice is not repeated", async () => {
  let sent = 0;
  class Lossy extends Client {
    async send() {
      sent++;
      throw new TypeError("the response is lost");
    }
  }
  for (const target of ["/v1/portfolio/redeem", "/v1/portfolio/orders/7/decrease", "/v1/portfolio/orders/7/replace"]) {
    await assert.rejects(new Lossy("http://127.0.0.1:1", "key", "00").call("POST", target, {}), UnknownOutcome);
  }
  assert.equal(sent, 3);
});

test("the order of a lost placement", async () => {
  const [duplicate, row] = ["duplicate_client_order_id", { order_id: "7", reason: "" }];
  assert.equal(await place(undefined, duplicate, { orders: [row] }), row);
  assert.equal(await place(undefined, duplicate, { orders: [{ order_id: null, reason: "insufficient_balance" }] }), "insufficient_balance");
  assert.equal(await place(undefined, duplicate, { orders: [] }), "unknown");
  assert.equal(await place(undefined, duplicate, "missing_scope"), "unknown");
  assert.equal(await place(duplicate), duplicate);
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
      if (!shed++) throw new VenueError(503, { code: "shed", origin: "gateway", details: null });
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
  const stream = new Stream(new Away(...venue, 1), ["user"]);
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
  const client = new Client(proxy.url, venue[1], venue[2], 8, 3000);
  const types = [];
  for await (const { id, type, msg } of new Stream(client, ["user"], [], 3000)) {
    assert.notEqual(id, 2); // the answer to the stream's own question
    types.push(type);
    if (types.length === 2) proxy.freeze();
    if (type === "subscribed" && types.length > 2) {
      assert.equal(msg.resumed, true);
      break;
    }
  }
  assert.deepEqual(types.slice(0, 2), ["subscribed", "user_snapshot"]);
  proxy.close();
});

// sockets replaces WebSocket until the test ends; answer gets each socket and the commands that it sends.
const sockets = (t, answer) => {
  const venueSocket = globalThis.WebSocket;
  t.after(() => (globalThis.WebSocket = venueSocket));
  const opened = [];
  globalThis.WebSocket = class {
    static OPEN = 1;
    readyState = 1;
    constructor(url) {
      this.url = url;
      opened.push(this);
      setImmediate(() => this.onopen());
    }
    send(text) {
      answer(this, JSON.parse(text));
    }
    say(message) {
      this.onmessage?.({ data: JSON.stringify(message) });
    }
    close() {}
  };
  return opened;
};

const away = (call = async () => ({})) => Object.assign(new Client("http://127.0.0.1:1/", "key", "00"), { call });

test("a stream stays with a connection that answers, however long nothing happens", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const opened = sockets(t, (socket, { id, cmd }) => {
    if (cmd === "list_subscriptions") socket.asked = (socket.asked ?? 0) + 1;
    if ((socket.asked ?? 0) < 4) socket.say({ id, type: cmd === "subscribe" ? "subscribed" : "subscriptions", msg: {} });
  });
  const seen = new Stream(away(), ["trades"])[Symbol.asyncIterator]();
  assert.equal((await seen.next()).value.type, "subscribed");
  const next = seen.next();
  t.mock.timers.tick(4 * 30_000); // three answers, and no fourth
  assert.equal(opened[0].asked, 4);
  assert.equal(opened.length, 1);
  t.mock.timers.tick(30_000);
  assert.equal((await next).value.type, "subscribed");
  assert.equal(opened.length, 2);
  assert.equal(opened[0].url, "ws://127.0.0.1:1/v1/ws");
  await seen.return();
});

test("a stream leaves messages that wait too long, and begins anew", async (t) => {
  const opened = sockets(t, (socket, { id }) => socket.say({ id, type: "subscribed", msg: {} }));
  const seen = new Stream(away(), ["trades"])[Symbol.asyncIterator]();
  assert.equal((await seen.next()).value.type, "subscribed");
  for (let n = 1; n <= 10_001; n++) opened[0].say({ type: "trade", sid: 1, seq: String(n), msg: { n } });
  assert.equal((await seen.next()).value.type, "subscribed");
  assert.equal(opened.length, 2);
  for (let n = 1; n <= 10_000; n++) opened[1].say({ type: "trade", sid: 1, seq: String(n), msg: { n } });
  for (let n = 1; n <= 10_000; n++) assert.equal((await seen.next()).value.msg.n, n);
  assert.equal(opened.length, 2);
  await seen.return();
});

test("a stream waits as long as the venue says, and outlives errors of a proxy", async (t) => {
  const errors = [new VenueError(502, { code: "bad_gateway", origin: "edge", details: null }), new VenueError(504, { code: "sequencing_timeout", origin: "gateway", details: null })];
  const at = [];
  sockets(t, (socket, { id }) => {
    at.push(performance.now());
    socket.say(at.length === 1 ? { id, type: "error", msg: { name: "rate_limited", retry_after_ms: 700 } } : { id, type: "subscribed", msg: {} });
  });
  const seen = new Stream(away(async () => {
    if (errors.length) throw errors.shift();
  }), ["trades"])[Symbol.asyncIterator]();
  assert.equal((await seen.next()).value.type, "subscribed");
  assert.equal(errors.length, 0);
  assert.ok(at[1] - at[0] >= 699, `${at[1] - at[0]} ms`);
  await seen.return();
});
