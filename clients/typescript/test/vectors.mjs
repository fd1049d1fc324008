// Runs the vectors that the clients share, without a venue. The package must be built: node --test test/vectors.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { Client, clientOrderId, NotExecuted, sign, Stream, UnknownOutcome, VenueError } from "duplex-client";
import { FakeClient, secret, settled, trueTime } from "./fake.mjs";

const root = process.env.DX_ROOT ? pathToFileURL(process.env.DX_ROOT + "/") : new URL("../../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const vectors = (name) => JSON.parse(read(`schemas/vectors/${name}.json`));

/** Status and origin of each code. */
const codes = new Map([...read("docs/rules/errors.md").matchAll(/^### (\w+)\n\nHTTP (\d+) · num \w+ · origin (\w+)/gm)].map(([, code, status, origin]) => [code, { status: Number(status), origin }]));

const calls = {
  read: (c) => c.call("GET", "/v1/time"),
  place: (c) => c.place({ market_id: 1, outcome: "yes", side: "buy", tick: 4700, qty: 10, client_order_id: "quote 7" }),
  replace: (c) => c.replace("7", { client_order_id: "quote 7", tick: 4700 }),
  cancel: (c) => c.cancel("7"),
  cancel_all: (c) => c.cancelAll(),
  decrease: (c) => c.call("POST", "/v1/portfolio/orders/7/decrease", { to: 1 }),
  redeem: (c) => c.call("POST", "/v1/portfolio/redeem", { market_id: 1, qty: 1 }),
  quote: (c) => c.call("PUT", "/v1/portfolio/quotes", { quotes: [] }),
  forecast: (c) => c.call("POST", "/v1/forecasts", { market_id: 1, p: 5000 }),
  deadman: (c) => c.call("POST", "/v1/portfolio/deadman", { timeout_ms: 5000 }),
  withdraw: (c) => c.call("POST", "/v1/withdrawals", { client_withdrawal_id: "w", amount: "5", destination: "d" }),
};

const row = { order_id: "7", market_id: 1, outcome: "yes", side: "buy", type: "limit", tick: 4700, qty: 10, reason: "" };
const approval = { ...row, approval_id: "7", order_id: null, status: "waiting" };
const rows = { order: row, "another order": { ...row, tick: 100 }, "rejected order": { ...row, order_id: null, reason: "insufficient_balance" } };

/** The answer of the venue, by the words of the vectors. */
function respond(word, now) {
  const [name, given] = word.split(" ");
  const refused = { lost: "ECONNRESET", refused: "ECONNREFUSED" }[word];
  if (refused) throw new TypeError("fetch failed", { cause: Object.assign(new Error(refused), { code: refused }) });
  if (word === "ok") return Response.json({ order_id: "1" });
  if (word === "not JSON") return new Response("<html>");
  if (word === "no order") return Response.json({ orders: [] });
  const approvals = (...some) => Response.json({ approvals: [{ approval_id: "8", client_order_id: "8" }, ...some.map((a) => ({ ...a, client_order_id: "4301141305141775374" }))], cursor: "" });
  if (word === "no approval") return approvals();
  if (word === "another approval") return approvals({ ...approval, tick: 100 });
  if (name === "approval") return approvals({ ...approval, status: given });
  if (word in rows) return Response.json({ orders: [rows[word]] });
  if (name === "status") return new Response("<html>", { status: Number(given) });
  const { status, origin } = name === "later_code" ? { status: Number(given), origin: "gateway" } : codes.get(name);
  const details = name === "rate_limited" ? { retry_after_ms: given } : null;
  const headers = word === "unauthorized with a date" ? { Date: new Date(Math.floor(now / 1000) * 1000).toUTCString() } : {};
  return Response.json({ error: { code: name, num: null, origin, message: name, details } }, { status, headers });
}

for (const v of vectors("retries")) {
  test(v.name, async () => {
    const client = new FakeClient("http://venue.example", "key", secret);
    client.clock = v.clock_ms ?? 0;
    const [waits, signatures, stamps] = [[], [], []];
    client.sleep = async (ms) => {
      waits.push(ms);
      client.time += ms;
    };
    const answers = [...v.answers];
    let before;
    client.answer = async ({ url, method, headers, body }) => {
      assert.ok(answers.length > 0, "one request too many");
      const { "DX-ACCESS-TIMESTAMP": stamp, "DX-ACCESS-SIGNATURE": signature } = headers;
      assert.equal(signature, await sign(secret, stamp, method, url.slice("http://venue.example".length), body ?? ""));
      if (body?.includes("client_order_id")) assert.equal(JSON.parse(body).client_order_id, "4301141305141775374");
      if (url.includes("client_order_id")) assert.ok(url.endsWith("=4301141305141775374"));
      signatures.push(signature === before ? "same" : "new");
      stamps.push(Number(stamp) - trueTime - client.time);
      before = signature;
      const word = answers[0].endsWith("...") ? answers[0].slice(0, -3) : answers.shift();
      const [, late] = /^unauthorized after (\d+)$/.exec(word) ?? [];
      if (late) {
        client.time += Number(late);
        return respond("unauthorized", trueTime + client.time);
      }
      return respond(word, trueTime + client.time);
    };
    let result;
    try {
      const out = await calls[v.call](client);
      result = "approval_id" in out ? out.status : out.order_id === "7" ? "order" : "ok";
    } catch (e) {
      if (e instanceof UnknownOutcome) result = "unknown";
      else if (e instanceof VenueError) result = e.code || `status ${e.status}`;
      else if (e instanceof NotExecuted) result = "refused";
      else result = e.cause?.code === "ECONNRESET" || e instanceof SyntaxError ? "lost" : e;
    }
    assert.equal(result, v.result);
    assert.equal(signatures.length, v.sent);
    if (v.signatures) assert.deepEqual(signatures, v.signatures);
    if (v.waits_ms) assert.deepEqual(waits, v.waits_ms);
    if (v.clock_ms) assert.ok(Math.abs(stamps.at(-1)) <= 500, `signed ${stamps.at(-1)} ms from the venue's clock`);
  });
}

test("client_order_ids of any text", async () => {
  for (const { text, id } of vectors("client_order_ids")) assert.equal(await clientOrderId(text), id, text);
  for (const wrong of ["", undefined, 7, "a\ud800", "\udc00\ud800"]) await assert.rejects(clientOrderId(wrong), TypeError);
});

test("base URLs", () => {
  for (const { url, accepted } of vectors("base_urls")) {
    if (accepted) assert.equal(new Client(url, "key", secret).url, url.replace(/\/$/, "").toLowerCase());
    else assert.throws(() => new Client(url, "key", secret), TypeError, url);
  }
});

test("values of DX_TIMEOUT", () => {
  for (const { value, ms } of vectors("timeouts")) {
    process.env.DX_TIMEOUT = value;
    if (ms !== null) assert.equal(new Client("http://venue.example", "key", secret).timeout, ms, value);
    else assert.throws(() => new Client("http://venue.example", "key", secret, { timeout: 5000 }), /DX_TIMEOUT/, value);
  }
  delete process.env.DX_TIMEOUT;
});

test("proxies", async () => {
  const { proxyOf } = await import(new URL("platform.js", import.meta.resolve("duplex-client")));
  for (const { url, proxy, cidr, ...names } of vectors("proxies")) {
    for (const name of [(n) => n, (n) => n.toUpperCase()]) {
      const env = Object.fromEntries(Object.entries(names).map(([n, value]) => [name(n), value]));
      if (!cidr) assert.equal(proxyOf(url, env) ?? "", proxy, JSON.stringify({ url, env }));
    }
  }
});

test("signatures", async () => {
  for (const v of vectors("signing")) assert.equal(await sign(v.secret, v.timestamp, v.method, v.target, v.body), v.signature, v.name);
});

test("a stream resumes as the vectors say", async () => {
  const client = new FakeClient("http://venue.example", "key", secret, { log: () => {} });
  client.passWaits();
  const stream = new Stream(client, ["orderbook_delta", "user"], [1]);
  let events = [];
  const done = (async () => {
    for await (const { type, seq, msg } of stream) if (type === "user") events.push(`${seq} ${msg.event}`);
  })();
  let socket;
  let sent = 0;
  for (const { client: command, venue, cut, expect } of vectors("ws_resume").steps) {
    if (command) {
      if (!socket) [socket, sent] = [await client.connection(), 0];
      const { id, ...rest } = socket.sent[sent++];
      assert.deepEqual(rest, command);
    }
    if (venue) {
      assert.equal(socket.sent.length, sent, "an unnecessary command");
      socket.say(venue);
    }
    if (cut === "venue") socket.cut();
    if (cut) socket = undefined;
    await settled();
    if (expect) {
      const book = stream.book(1);
      assert.deepEqual(book && { seq: book.seq, generation: book.generation, yes: book.yes, no: book.no }, expect.book ?? undefined, expect.why);
      assert.deepEqual(events, expect.events, expect.why);
      events = [];
    }
  }
  stream.close();
  await done;
});
