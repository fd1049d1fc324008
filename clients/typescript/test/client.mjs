// The client without a venue: node --test test/client.mjs
import assert from "node:assert/strict";
import net from "node:net";
import { test } from "node:test";
import { Client, NotExecuted, UnknownOutcome, VenueError } from "duplex-client";
import { FakeClient, secret, trueTime } from "./fake.mjs";

const fake = (answer, options) => {
  const client = new FakeClient("http://venue.example", "key", secret, options);
  client.passWaits();
  client.answer = answer;
  return client;
};

test("DX_TIMEOUT sets the time of an attempt, and of a call if it is more", () => {
  for (const [value, given, timeout, budget] of [
    ["", {}, 5000, 30_000],
    ["20", {}, 20_000, 30_000],
    ["86400", {}, 86_400_000, 86_400_000],
    ["86400", { timeout: 3000 }, 3000, 30_000],
    ["86400", { timeout: 3000, budget: 4000 }, 3000, 4000],
  ]) {
    process.env.DX_TIMEOUT = value;
    const client = new Client("http://127.0.0.1:1", "key", secret, given);
    assert.deepEqual([client.timeout, client.budget], [timeout, budget], value);
  }
  delete process.env.DX_TIMEOUT;
});

test("an attempt ends after the timeout, and the last one with the budget", async () => {
  const times = [];
  const client = fake(({ signal }) => new Promise((_, fail) => {
    const began = client.time;
    signal.addEventListener("abort", () => (times.push(client.time - began), fail(signal.reason)));
    setImmediate(() => client.advance(5000));
  }), { budget: 12_000 });
  await assert.rejects(client.call("GET", "/v1/time"), { name: "TimeoutError" });
  assert.deepEqual(times, [5000, 5000, 1850]);
});

test("no connection is certainly not executed", async () => {
  // The client waits to repeat a write that was not executed, and does not repeat a lost one.
  const outcome = async (url) => {
    const client = new Client(url, "key", secret, { timeout: 600_000 });
    client.sleep = async () => {
      throw new Error("not executed");
    };
    return client.call("POST", "/v1/portfolio/redeem", {}).catch((e) => (e instanceof UnknownOutcome ? "lost" : e.message));
  };
  const cuts = net.createServer((socket) => socket.once("data", () => socket.destroy()));
  const speaksHttp = net.createServer((socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
  for (const server of [cuts, speaksHttp]) await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const free = net.createServer();
  await new Promise((done) => free.listen(0, "127.0.0.1", done));
  const { port } = free.address();
  await new Promise((done) => free.close(done));
  assert.equal(await outcome(`http://127.0.0.1:${port}`), "not executed");
  assert.equal(await outcome("http://127.0.0.1:6000"), "not executed"); // fetch blocks the port
  await assert.rejects(new Client(`http://127.0.0.1:${port}`, "key", secret, { budget: 20 }).call("GET", "/v1/time"), (e) => e instanceof NotExecuted && e.name === "NotExecuted" && /ECONNREFUSED/.test(e.message));
  await assert.rejects(new Client("http://127.0.0.1:6000", "key", secret, { budget: 20 }).call("GET", "/v1/time"), (e) => e instanceof NotExecuted && /bad port/.test(e.message));
  assert.equal(await outcome(`https://127.0.0.1:${speaksHttp.address().port}`), "not executed"); // TLS to a plain port
  assert.equal(await outcome(`http://127.0.0.1:${cuts.address().port}`), "lost");
  for (const server of [cuts, speaksHttp]) server.close();
});

test("the causes that say that there was no connection", async () => {
  const outcome = (cause) => {
    let sent = 0;
    const client = fake(() => {
      if (sent++) return Response.json({});
      throw new TypeError("fetch failed", { cause });
    });
    return client.call("POST", "/v1/portfolio/redeem", {}).then(() => "not executed", () => "lost");
  };
  const error = (code, more) => Object.assign(new Error(code), { code, ...more });
  for (const code of ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT", "ERR_SSL_WRONG_VERSION_NUMBER", "EPROTO", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID", "DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "SELF_SIGNED_CERT_IN_CHAIN"]) {
    assert.equal(await outcome(error(code)), "not executed", code);
  }
  assert.equal(await outcome(error("ETIMEDOUT", { syscall: "connect" })), "not executed");
  assert.equal(await outcome(Object.assign(new AggregateError([error("ECONNREFUSED"), error("ENETUNREACH")]), { code: "ECONNREFUSED" })), "not executed");
  assert.equal(await outcome(new AggregateError([error("ECONNREFUSED"), error("ECONNRESET")])), "lost");
  for (const code of ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT", "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC"]) assert.equal(await outcome(error(code)), "lost", code);
  assert.equal(await outcome(undefined), "lost"); // of a browser
});

test("what a restart executes twice, and a batch, are not repeated", async () => {
  let sent = 0;
  const client = fake(() => {
    sent++;
    throw new TypeError("the response is lost");
  });
  for (const target of ["/v1/portfolio/redeem", "/v1/portfolio/orders/7/decrease", "/v1/portfolio/orders/7/replace", "/v1/portfolio/orders", "/v1/portfolio/orders/batch"]) {
    await assert.rejects(client.call("POST", target, {}), UnknownOutcome);
  }
  assert.equal(sent, 5);
});

test("an error has what the venue says about it, and that of a proxy its status", async () => {
  const error = { code: "bad_qty", num: 261, origin: "core", message: "bad_qty", details: null, field: "qty", hint: "an integer" };
  await assert.rejects(fake(() => Response.json({ error }, { status: 400 })).cancel("7"), { name: "VenueError", code: "bad_qty", origin: "core", status: 400, message: "bad_qty (400): qty: an integer" });
  for (const body of ["<html>", "null", '{"error":"x"}', '{"error":{"code":404,"origin":"edge"}}']) {
    await assert.rejects(fake(() => new Response(body, { status: 404 })).cancel("7"), (e) => e instanceof VenueError && e.code === "" && e.status === 404);
  }
  await assert.rejects(fake(() => new Response("<html>")).call("POST", "/v1/portfolio/redeem", {}), UnknownOutcome); // a 200 of a proxy
  await assert.rejects(fake(() => new Response("", { status: 302 })).cancel("7"), { status: 302 });
});

test("the rows of all pages, and their filters", async () => {
  const asked = [];
  const client = fake(({ url }) => {
    asked.push(url.slice("http://venue.example".length));
    const more = asked.length % 2 === 1;
    return Response.json(Object.fromEntries([...["orders", "fills", "positions", "settlements", "ledger", "rounds", "forecasts", "deposits", "withdrawals", "markets", "trades", "rows", "ticks"].map((rows) => [rows, more ? [1, 2] : [3]]), ["cursor", more ? "a+b" : ""]]));
  });
  for (const [rows, first] of [
    [client.allOrders({ status: ["resting", "executed"], client_order_id: "quote 7", limit: undefined }), "/v1/portfolio/orders?status=resting%2Cexecuted&client_order_id=4301141305141775374"],
    [client.allFills({ limit: 2 }), "/v1/portfolio/fills?limit=2"],
    [client.allPositions(), "/v1/portfolio/positions"],
    [client.allSettlements(), "/v1/portfolio/settlements"],
    [client.allLedger(), "/v1/portfolio/ledger"],
    [client.allPortfolioRounds(), "/v1/portfolio/rounds"],
    [client.allForecasts(), "/v1/forecasts"],
    [client.allDeposits(), "/v1/deposits"],
    [client.allWithdrawals(), "/v1/withdrawals"],
    [client.allMarkets(), "/v1/markets"],
    [client.allTrades(7), "/v1/markets/7/trades"],
    [client.allRounds(), "/v1/rounds"],
    [client.allPrices({ feed: 1 }), "/v1/oracle/history?feed=1"],
    [client.allRoundRows(7), "/v1/rounds/7/history"],
    [client.allEvidenceTicks(7), "/v1/rounds/7/evidence"],
  ]) {
    asked.length = 0;
    const got = [];
    for await (const row of rows) got.push(row);
    assert.deepEqual(got, [1, 2, 3]);
    assert.deepEqual(asked, [first, `${first}${first.includes("?") ? "&" : "?"}cursor=a%2Bb`]);
  }
});

test("a client_order_id of any text, wherever one is sent", async () => {
  const sent = [];
  const client = fake(({ url, body }) => (sent.push(body ?? url), Response.json({ orders: [] })));
  const id = "4301141305141775374";
  assert.equal(await client.find("quote 7"), undefined);
  await client.cancelByClientOrderId("quote 7");
  await client.placeBatch([{ client_order_id: "quote 7" }, { client_order_id: "007" }]);
  await client.cancelAll({ market_id: 3, group_id: 9 });
  assert.deepEqual(sent, [
    `http://venue.example/v1/portfolio/orders?client_order_id=${id}`,
    `http://venue.example/v1/portfolio/orders/by-client-order-id/${id}`,
    `{"orders":[{"client_order_id":"${id}"},{"client_order_id":"7"}]}`,
    "http://venue.example/v1/portfolio/orders?market_id=3&group_id=9",
  ]);
  await assert.rejects(client.place({ client_order_id: "" }), TypeError);
  assert.equal(sent.length, 4);
});

test("what makes another order", async () => {
  const sent = { client_order_id: "7", market_id: 1, side: "buy", outcome: "yes", tick: 5000, qty: 3 };
  const market = { ...sent, type: "market", tick: undefined, max_cost: "1000" };
  const row = { ...sent, order_id: "9", type: "limit", filled_qty: 2, remaining_qty: 0, reason: "bad_qty" };
  const place = (client, order) => client.place(order);
  const replace = (client, order) => client.replace("8", order);
  for (const [call, order, change, result] of [
    [place, sent, {}, "9"],
    [place, sent, { market_id: 2 }, "another"],
    [place, sent, { side: "sell" }, "another"],
    [place, sent, { outcome: "no" }, "another"],
    [place, sent, { tick: 4900 }, "another"],
    [place, sent, { qty: 4 }, "another"],
    [place, sent, { type: "market" }, "another"],
    [place, market, { type: "market", tick: 4900, max_cost: "990" }, "9"],
    [place, sent, { order_id: null, tick: 0, qty: 0 }, "bad_qty"],
    [place, sent, { order_id: null, side: "sell" }, "another"],
    [replace, { client_order_id: "7" }, {}, "9"],
    [replace, { client_order_id: "7", tick: 5100 }, {}, "another"],
    [replace, { client_order_id: "7", qty: 4 }, {}, "another"],
    [replace, { client_order_id: "7", qty: 5, keep_total: true }, {}, "9"],
  ]) {
    const found = { ...row, ...change };
    const answers = [
      () => { throw new TypeError("lost"); },
      () => Response.json({ error: { code: "duplicate_client_order_id", origin: "core", details: null } }, { status: 409 }),
      () => Response.json({ orders: [found] }),
    ];
    const got = await call(fake(() => answers.shift()()), order).then(
      ({ order_id }) => order_id,
      (e) => (e.code === "duplicate_client_order_id" && JSON.stringify(e.order) === JSON.stringify(found) ? "another" : e.code),
    );
    assert.equal(got, result, JSON.stringify({ order, change }));
  }
});

test("a wrong clock and calls at the same time", async () => {
  for (const clock of [-60_000, 60_000]) {
    let wrong = 0;
    let all;
    const sent = new Promise((done) => (all = done));
    const client = fake(async ({ headers }) => {
      if (Math.abs(Number(headers["DX-ACCESS-TIMESTAMP"]) - trueTime - client.time) < 1000) return Response.json({});
      if (++wrong === 8) all();
      await sent; // each call is signed before the first 401 comes
      return Response.json({ error: { code: "unauthorized", origin: "gateway", details: null } }, { status: 401, headers: { Date: new Date(trueTime + client.time).toUTCString() } });
    });
    client.clock = clock;
    await Promise.all(Array.from({ length: 8 }, () => client.call("GET", "/v1/portfolio/balance")));
    assert.equal(wrong, 8);
  }
});

test("a clock that is set changes nothing", async () => {
  const client = fake(() => Response.json({}));
  const before = client.now();
  client.clock = 3_600_000;
  client.advance(5);
  assert.equal(client.now(), before + 5);
});

test("a clock that the venue corrects", async () => {
  const client = new FakeClient("http://venue.example", "key", secret);
  client.clock = -3_600_000;
  assert.ok(await client.syncClock());
  assert.ok(Math.abs(client.now() - trueTime) < 1);
  // A Date header is cut to the second.
  for (const part of [0, 999]) {
    const stamps = [];
    const late = fake(({ headers }) => {
      stamps.push(Number(headers["DX-ACCESS-TIMESTAMP"]) - trueTime - late.time);
      const date = new Date(trueTime + late.time - part).toUTCString();
      return stamps.length > 1 ? Response.json({}) : Response.json({ error: { code: "unauthorized", origin: "gateway", details: null } }, { status: 401, headers: { Date: date } });
    });
    late.clock = -60_000;
    late.time = part;
    await late.call("GET", "/v1/portfolio/balance");
    assert.ok(Math.abs(stamps[1]) <= 500, `${stamps[1]} ms`);
  }
});
