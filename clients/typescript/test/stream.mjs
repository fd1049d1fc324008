// Streams of a venue without a network, in a time that the tests move: node --test test/stream.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { NotExecuted, Stream, VenueError } from "duplex-client";
import { FakeClient, secret, settled, trueTime } from "./fake.mjs";

const make = (channels, options = {}, clientOptions = {}) => {
  const lines = [];
  const client = new FakeClient("http://venue.example", "key", secret, { log: (line) => lines.push(line), ...clientOptions });
  client.onCommand = ({ id, cmd }, socket) => cmd === "subscribe" && socket.say({ id, type: "subscribed", msg: { channel: channels[0], sid: 1 } });
  const stream = new Stream(client, channels, [], options);
  return { client, stream, lines, seen: stream[Symbol.asyncIterator]() };
};

/** Iterates in the background; types has what came. */
const follow = (seen) => {
  const types = [];
  const done = (async () => {
    for (let next; !(next = await seen.next()).done; ) types.push(next.value.type);
  })();
  done.catch(() => {});
  return { types, done };
};

const refused = () => {
  throw new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
};

const ns = (ms) => String(BigInt(ms) * 1_000_000n);
const snapshot = (seq, prev_seq = "0") => ({ type: "orderbook_snapshot", sid: 1, seq, prev_seq, msg: { market_id: 1, generation: 1, round_number: "1", tick_size: {}, yes: [[4700, 30]], no: [], ts: ns(trueTime) } });
const delta = (seq, prev_seq, ts, qty = 5) => ({ type: "orderbook_delta", sid: 1, seq, prev_seq, msg: { market_id: 1, generation: 1, changes: [{ outcome: "yes", tick: 4800, delta: qty, qty }], ts: ns(ts) } });

test("the first connection fails within the budget", async () => {
  for (const answer of [refused, () => new Response("", { status: 502 })]) {
    const { client, seen, lines } = make(["trades"]);
    client.passWaits();
    client.answer = answer;
    await assert.rejects(seen.next(), answer === refused ? NotExecuted : VenueError);
    assert.ok(client.time > 25_000 && client.time <= 30_000, `${client.time} ms`);
    assert.deepEqual(lines, []);
  }
  const { client, seen } = make(["trades"], {}, { budget: 9000 });
  client.onCommand = () => {}; // nothing arrives
  const next = seen.next();
  next.catch(() => {});
  await client.connection();
  client.advance(9000);
  await assert.rejects(next, /there was no connection within 9000 ms/);
});

test("a first connection is one that brings a message", async () => {
  for (const [name, command] of [
    ["closes", (socket) => socket.cut(1000)],
    ["is silent", () => {}],
    ["sends garbage", (socket) => socket.say([])],
    ["answers, and brings nothing", (socket) => socket.say({ id: 1, type: "ok", msg: {} })],
  ]) {
    const { client, seen, lines } = make(["trades"]);
    client.passWaits();
    client.onCommand = (_, socket) => command(socket);
    const failed = seen.next().then(() => assert.fail("a message"), () => undefined);
    for (let socket; (socket = await Promise.race([client.connection(), failed])); ) {
      for (; socket.readyState !== 3; await settled()) client.advance(1000);
    }
    assert.ok(client.time > 20_000 && client.time <= 31_000, `${name}: after ${client.time} ms`);
    assert.deepEqual(lines, [], name);
  }
});

test("a connection on which something else than a message arrives is left", async () => {
  for (const garbage of ["{", "null", "5", "[]", "{}", '{"type":"trade"}', '{"type":"trade","msg":null}', '{"type":"orderbook_delta","sid":1,"seq":"11","prev_seq":"10","msg":{"market_id":1,"generation":1}}']) {
    const { client, seen, stream, lines } = make(["orderbook_delta"]);
    client.passWaits();
    const { types } = follow(seen);
    const socket = await client.connection();
    socket.say(snapshot("10"));
    await settled();
    socket.onmessage?.({ data: garbage });
    await client.connection();
    await settled();
    assert.equal(stream.book(1), undefined);
    assert.deepEqual(types, ["subscribed", "orderbook_snapshot", "subscribed"], garbage);
    assert.equal(lines.length, 2);
  }
});

test("the notice of a venue that stops is a message", async () => {
  const { client, seen } = make(["trades"]);
  const { types } = follow(seen);
  const socket = await client.connection();
  socket.say({ type: "draining", msg: { close_ts: "1795403706000000000" } });
  socket.say({ type: "trade", sid: 1, seq: "11", prev_seq: "10", msg: {} });
  await settled();
  assert.deepEqual(types, ["subscribed", "draining", "trade"]);
});

test("a clock that is wrong while a stream is open is measured before a change is late", async () => {
  // A clock that is set changes nothing. One that stood still, or is wrong for any reason, is measured again.
  for (const [change, wait, measures] of [["set", 11_000, 0], ["behind", 11_000, 1], ["behind", 4000, 0]]) {
    const { client, stream, seen } = make(["orderbook_delta"], { onLate: () => assert.fail("late") });
    let asked = 0;
    let slept = 0;
    client.answer = () => (asked++, Response.json({ server_time: ns(trueTime + client.time + slept), clock: "wall", venue_time: "1" }));
    const subscribe = client.onCommand;
    client.onCommand = (command, socket) => (subscribe(command, socket), command.cmd === "list_subscriptions" && socket.say({ id: command.id, type: "ok", msg: {} }));
    follow(seen);
    const socket = await client.connection();
    socket.say(snapshot("10"));
    await settled();
    for (let n = 0; n < wait; n += 1000) client.advance(1000), await settled();
    const before = asked;
    if (change === "set") client.clock = 3_600_000;
    else slept = 60_000;
    socket.say(delta("11", "10", trueTime + client.time + slept));
    socket.say(delta("12", "11", trueTime + client.time + slept));
    while (stream.book(1)?.seq !== "12") await settled(); // signing takes no time of the test
    assert.equal(stream.book(1).seq, "12");
    assert.equal(asked - before, measures, change);
    if (measures) assert.ok(Math.abs(client.now() - trueTime - client.time - slept) < 1);
  }
});

test("a book that is no longer read is unknown", async () => {
  for (const ends of [({ seen }) => seen.return(), ({ stream }) => stream.close()]) {
    const made = make(["orderbook_delta"]);
    const next = made.seen.next();
    const socket = await made.client.connection();
    await next;
    socket.say(snapshot("10"));
    await made.seen.next();
    assert.ok(made.stream.book(1));
    await ends(made);
    assert.equal(made.stream.book(1), undefined);
  }
});

test("each connection binds the orders before it subscribes", async () => {
  const { client, seen } = make(["trades"], { cancelOnDisconnect: [0, 7] });
  client.passWaits();
  const sent = [];
  const subscribe = client.onCommand;
  let refusal;
  client.onCommand = (command, socket) => {
    sent.push([command.cmd, command.params]);
    if (command.cmd === "cancel_on_disconnect") socket.say({ id: command.id, type: refusal ? "error" : "ok", msg: refusal ?? { ...command.params, seq: "5" } });
    else subscribe(command, socket);
  };
  const { done } = follow(seen);
  const want = [["cancel_on_disconnect", { enabled: true, group_id: 0 }], ["cancel_on_disconnect", { enabled: true, group_id: 7 }], ["subscribe", { channels: ["trades"] }]];
  const first = await client.connection();
  await settled();
  assert.deepEqual(sent.splice(0), want);
  refusal = { code: 16, name: "group_limit_reached" };
  first.cut(1012, "restart");
  await settled();
  await client.connection();
  await settled();
  await assert.rejects(done, (e) => e.code === "group_limit_reached");
  assert.deepEqual(sent.slice(0, 1), want.slice(0, 1));
});

test("one outage is one line and one call, and one line when it is back", async () => {
  const outages = [];
  const { client, seen, lines } = make(["trades"], { onDisconnect: (error, since) => outages.push([error.message, since.getTime()]) });
  client.passWaits();
  const { types } = follow(seen);
  const first = await client.connection();
  await settled();
  client.advance(1000);
  const { answer } = client;
  client.answer = (...request) => (client.time < 71_000 ? refused() : answer(...request)); // more than two budgets
  first.cut(1012, "restart");
  await settled();
  assert.deepEqual(outages, [["the connection ended with 1012: restart", trueTime + 1000]]);
  assert.deepEqual(lines, ["duplex: no stream from http://venue.example since 2027-01-15T08:00:01.000Z: the connection ended with 1012: restart"]);
  await client.connection();
  await settled();
  assert.equal(outages.length, 1);
  assert.equal(lines.length, 2);
  assert.match(lines[1], /^duplex: the stream from http:\/\/venue.example is back after 7\d\.\d s$/);
  assert.deepEqual(types, ["subscribed", "subscribed"]);
});

test("a stream asks after half of the silence, and leaves a connection without an answer", async () => {
  const { client, seen, lines } = make(["trades"]);
  let answers = 3;
  const subscribe = client.onCommand;
  client.onCommand = (command, socket) => {
    subscribe(command, socket);
    if (command.cmd === "list_subscriptions" && answers-- > 0) socket.say({ id: command.id, type: "ok", msg: { subscriptions: [] } });
  };
  const { types } = follow(seen);
  const socket = await client.connection();
  await settled();
  assert.equal(socket.url, "ws://venue.example/v1/ws");
  const asked = () => socket.sent.filter(({ cmd }) => cmd === "list_subscriptions").length;
  for (const [to, count] of [[4999, 0], [5000, 1], [9999, 1], [10_000, 2], [15_000, 3], [20_000, 4], [24_999, 4]]) {
    client.advance(to - client.time);
    await settled();
    assert.equal(asked(), count, `at ${to} ms`);
  }
  assert.deepEqual(lines, []);
  client.advance(1);
  await settled();
  assert.match(lines[0], /nothing arrived for 10000 ms$/);
  client.advance(50);
  await client.connection();
  await settled();
  assert.deepEqual(types, ["subscribed", "subscribed"]); // answers to the stream's own questions are not yielded
});

test("a late change makes the book unknown until the snapshot that is asked for once", async () => {
  const late = [];
  const { client, stream, seen } = make(["orderbook_delta"], { onLate: (...x) => late.push(x) });
  const { types } = follow(seen);
  const socket = await client.connection();
  const say = async (message) => (socket.say(message), await settled());
  await say(snapshot("10"));
  client.advance(3000);
  const now = trueTime + client.time;
  await say(delta("11", "10", now - 2000));
  assert.deepEqual(stream.book(1).yes, [[4800, 5], [4700, 30]]);
  assert.equal(stream.book(1).seq, "11");
  await say(delta("12", "11", now - 2001));
  assert.equal(stream.book(1), undefined);
  await say(delta("13", "12", now - 2500));
  await say(delta("14", "13", now));
  assert.deepEqual(late, [[1, 2001]]);
  const asked = socket.sent.filter(({ cmd }) => cmd === "update_subscription");
  assert.deepEqual(asked.map(({ params }) => params), [{ sid: 1, action: "get_snapshot", market_ids: [1] }]);
  assert.equal(stream.book(1), undefined);
  await say({ id: asked[0].id, type: "ok", msg: { sid: 1, market_ids: [1] } });
  await say(snapshot("15", "14"));
  await say(delta("16", "15", now, 0));
  assert.deepEqual(stream.book(1).yes, [[4700, 30]]);
  stream.book(1).yes.length = 0; // a copy
  assert.equal(stream.book(1).yes.length, 1);
  await say(delta("18", "17", now)); // a gap: the connection stays
  assert.equal(stream.book(1), undefined);
  assert.equal(client.connections, 1);
  assert.deepEqual(types, ["subscribed", "orderbook_snapshot", "orderbook_delta", "orderbook_snapshot", "orderbook_delta"]);
  await say(snapshot("19", "18"));
  socket.cut();
  await settled();
  assert.equal(stream.book(1), undefined);
});

test("the venue's clock decides how old a change is, and nothing is late in virtual time", async () => {
  for (const [clock, ahead, changes] of [["wall", 3_600_000, 1], ["virtual", 0, 1]]) {
    const { client, stream, seen } = make(["orderbook_delta"], { onLate: () => assert.fail("late") });
    client.clock = ahead;
    client.answer = () => Response.json({ server_time: ns(trueTime + client.time), clock, venue_time: "1" });
    const { types } = follow(seen);
    const socket = await client.connection();
    socket.say(snapshot("10"));
    socket.say(delta("11", "10", clock === "virtual" ? 1 : trueTime));
    await settled();
    assert.equal(types.filter((t) => t === "orderbook_delta").length, changes);
    assert.equal(stream.book(1).seq, "11");
    const stamp = Number(socket.protocols[1].split(".")[3]);
    assert.ok(Math.abs(stamp - trueTime) < 1000, "the handshake is signed with the venue's clock");
  }
});

test("a rate-limited command is sent again after the time that the venue names", async () => {
  const { client, seen } = make(["orderbook_delta"]);
  let limited = 1;
  const subscribe = client.onCommand;
  client.onCommand = (command, socket) => {
    if (limited-- > 0) socket.say({ id: command.id, type: "error", msg: { code: 9, name: "rate_limited", retry_after_ms: "700" } });
    else subscribe(command, socket);
  };
  const { types } = follow(seen);
  const socket = await client.connection();
  await settled();
  client.advance(699);
  await settled();
  assert.equal(socket.sent.length, 1);
  client.advance(1);
  await settled();
  assert.deepEqual([socket.sent.length, types], [2, ["subscribed"]]);
});

test("a stream leaves messages that wait too long, and begins anew", async () => {
  const { client, seen, lines } = make(["trades"]);
  client.passWaits();
  const trade = (n) => ({ type: "trade", sid: 1, seq: String(n), prev_seq: "0", msg: { n } });
  const next = seen.next();
  const first = await client.connection();
  assert.equal((await next).value.type, "subscribed");
  for (let n = 1; n <= 10_001; n++) first.say(trade(n));
  const again = seen.next();
  const second = await client.connection();
  assert.equal((await again).value.type, "subscribed");
  assert.match(lines[0], /10000 messages wait to be iterated$/);
  for (let n = 1; n <= 10_000; n++) second.say(trade(n));
  for (let n = 1; n <= 10_000; n++) assert.equal((await seen.next()).value.msg.n, n);
  assert.equal(client.connections, 2);
});

test("close ends a stream that waits for its next attempt, or for an answer", async () => {
  for (const waits of ["for an attempt", "for an answer"]) {
    const { client, stream, seen } = make(["trades"]);
    const { done } = follow(seen);
    const socket = await client.connection();
    await settled();
    let asked;
    const request = new Promise((done) => (asked = done));
    client.answer = ({ signal }) => new Promise((_, fail) => (signal.addEventListener("abort", () => fail(signal.reason)), asked()));
    socket.cut();
    await settled();
    if (waits === "for an answer") {
      client.advance(50);
      await request;
    }
    stream.close();
    await done;
    assert.equal(client.timers.size, 0);
  }
});

test("an account event that is missing ends the connection", async () => {
  const { client, seen, lines } = make(["user"]);
  client.passWaits();
  const { types } = follow(seen);
  const socket = await client.connection();
  socket.say({ type: "user_snapshot", sid: 1, seq: "10", prev_seq: "0", msg: {} });
  socket.say({ type: "user", sid: 1, seq: "13", prev_seq: "12", msg: { event: "deposit" } });
  const { sent } = await client.connection();
  assert.equal(sent[0].params.since_seq, "10");
  assert.match(lines[0], /an event of the account is missing$/);
  assert.equal(types.includes("user"), false);
});
