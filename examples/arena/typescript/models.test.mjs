// @ts-check
// Tests the models against a loopback fake of each provider: the exact request, answers in the
// form that the provider documents, and every kind of bad answer. Run: node --test
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";
import { SYSTEM, TOOL, prompt } from "./decision.mjs";
import { ask, fromEnvironment, stub } from "./models.mjs";

/** @typedef {{ status?: number, headers?: Record<string, string>, body?: unknown, silent?: boolean, cut?: boolean }} Answer */

/** @type {import("./decision.mjs").View} */
const VIEW = {
  round: "7", seconds_to_close: 40, index: 65_010, strike: 65_000, volatility_ppb: 100_000,
  yes: { bid: 4_800, ask: 5_000 }, no: { bid: 5_000, ask: 5_200 }, held: { yes: 0, no: 0 }, cash: 1_000_000, equity: 1_000_000, max_qty: 10,
};
const BUY = { p_yes: 6_200, action: "buy_yes", max_price: 5_300, qty: 4 };

/**
 * The wire format of each provider: how it answers with a call of a tool, and what else it may
 * answer.
 */
const WIRE = {
  anthropic: {
    path: "/v1/messages",
    /** @param {unknown} input @param {string} [name] */
    call: (input, name = "decide") => ({
      id: "msg_01XFDUDYJgAACzvnptvVoYEL", type: "message", role: "assistant", model: "model-a",
      content: [{ type: "text", text: "YES is more likely." }, { type: "tool_use", id: "toolu_01A09q90qw90lq917835lq9", name, input }],
      stop_reason: "tool_use", stop_sequence: null, usage: { input_tokens: 612, output_tokens: 71 },
    }),
    text: {
      id: "msg_01", type: "message", role: "assistant", model: "model-a", content: [{ type: "text", text: "I would buy YES." }],
      stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 612, output_tokens: 9 },
    },
    cutOff: {
      id: "msg_01", type: "message", role: "assistant", model: "model-a", content: [{ type: "tool_use", id: "toolu_01", name: "decide", input: BUY }],
      stop_reason: "max_tokens", stop_sequence: null, usage: { input_tokens: 612, output_tokens: 1024 },
    },
    /** @param {string} type */
    error: (type) => ({ type: "error", error: { type, message: type }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" }),
  },
  openai: {
    path: "/v1/chat/completions",
    /** @param {unknown} input @param {string} [name] */
    call: (input, name = "decide") => ({
      id: "chatcmpl-abc123", object: "chat.completion", created: 1_699_896_916, model: "model-a",
      choices: [{
        index: 0, logprobs: null, finish_reason: "tool_calls",
        message: { role: "assistant", content: null, refusal: null, tool_calls: [{ id: "call_abc123", type: "function", function: { name, arguments: typeof input === "string" ? input : JSON.stringify(input) } }] },
      }],
      usage: { prompt_tokens: 582, completion_tokens: 37, total_tokens: 619 },
    }),
    text: {
      id: "chatcmpl-abc123", object: "chat.completion", created: 1_699_896_916, model: "model-a",
      choices: [{ index: 0, logprobs: null, finish_reason: "stop", message: { role: "assistant", content: "I would buy YES.", refusal: null } }],
      usage: { prompt_tokens: 582, completion_tokens: 9, total_tokens: 591 },
    },
    cutOff: {
      id: "chatcmpl-abc123", object: "chat.completion", created: 1_699_896_916, model: "model-a",
      choices: [{ index: 0, logprobs: null, finish_reason: "length", message: { role: "assistant", content: null, tool_calls: [{ id: "call_abc123", type: "function", function: { name: "decide", arguments: JSON.stringify(BUY) } }] } }],
      usage: { prompt_tokens: 582, completion_tokens: 1024, total_tokens: 1606 },
    },
    /** @param {string} type */
    error: (type) => ({ error: { message: type, type, param: null, code: null } }),
  },
};

/** @typedef {keyof typeof WIRE} Kind */

/**
 * Starts a provider that gives the answers in order, the last one again and again, and records the
 * requests.
 * @param {import("node:test").TestContext} t @param {Kind} kind @param {Answer[]} answers
 */
async function provider(t, kind, answers) {
  /** @type {{ method?: string, url?: string, headers: import("node:http").IncomingHttpHeaders, body: any }[]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push({ method: request.method, url: request.url, headers: request.headers, body: JSON.parse(text) });
    if (answer.silent) return; // until the client gives up
    if (answer.cut) return void request.socket.destroy();
    response.writeHead(answer.status ?? 200, { "content-type": "application/json", ...answer.headers });
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const env = { MODEL: kind, MODEL_URL: `http://127.0.0.1:${port}`, MODEL_KEY: "key-of-the-test", MODEL_NAME: "model-a" };
  return { model: fromEnvironment(env), requests, url: env.MODEL_URL };
}

/** Asks with waits that a test can afford, and returns the lines of the log too. @param {import("./decision.mjs").Model} model @param {Partial<import("./models.mjs").Limits>} [limits] */
async function decide(model, limits, view = VIEW) {
  /** @type {string[]} */
  const log = [];
  const decision = await ask(model, view, new AbortController().signal, { baseMs: 1, log: (line) => log.push(line), ...limits });
  return { decision, log };
}

const SCHEMA = {
  type: "object",
  properties: {
    p_yes: { type: "integer", minimum: 0, maximum: 10_000, description: "your probability of YES, in basis points" },
    action: { type: "string", enum: ["buy_yes", "buy_no", "hold"], description: "what to buy at the best offer, or hold" },
    max_price: { type: "integer", minimum: 1, maximum: 9_999, description: "highest price per contract in pips; leave it out for hold" },
    qty: { type: "integer", minimum: 1, maximum: 10, description: "contracts; leave it out for hold" },
  },
  required: ["p_yes", "action"],
  additionalProperties: false,
};

test("each answer has its tokens and its cost, also one that is no decision", async (t) => {
  for (const [kind, want] of /** @type {const} */ ([["anthropic", [[612, 9], [612, 71]]], ["openai", [[582, 9], [582, 37]]]])) {
    const wire = WIRE[kind];
    const { url } = await provider(t, kind, [{ body: wire.text }, { body: wire.call(BUY) }]);
    const model = fromEnvironment({ MODEL: kind, MODEL_URL: url, MODEL_KEY: "k", MODEL_NAME: "model-a", MODEL_PRICES: "3,15" });
    assert.deepEqual((await decide(model)).decision, BUY);
    assert.deepEqual(model.used, want.map(([prompt, completion]) => ({ model: "model-a", prompt_tokens: prompt, completion_tokens: completion, cost: ((3 * prompt + 15 * completion) / 1e6).toFixed(9) })));
  }
  assert.throws(() => fromEnvironment({ MODEL: "openai", MODEL_KEY: "k", MODEL_NAME: "m", MODEL_PRICES: "3" }), /MODEL_PRICES/);
});

test("anthropic: the exact request", async (t) => {
  const { model, requests } = await provider(t, "anthropic", [{ body: WIRE.anthropic.call(BUY) }]);
  assert.deepEqual((await decide(model)).decision, BUY);
  assert.equal(requests.length, 1);
  const { method, url, headers, body } = requests[0];
  assert.deepEqual([method, url], ["POST", "/v1/messages"]);
  assert.deepEqual([headers["x-api-key"], headers["anthropic-version"], headers["content-type"], headers.authorization], ["key-of-the-test", "2023-06-01", "application/json", undefined]);
  assert.deepEqual(body, {
    model: "model-a", max_tokens: 1024, system: SYSTEM,
    messages: [{ role: "user", content: prompt(VIEW) }],
    tools: [{ name: "decide", description: TOOL.description, input_schema: SCHEMA }],
    tool_choice: { type: "tool", name: "decide", disable_parallel_tool_use: true },
  });
});

test("openai: the exact request", async (t) => {
  const { model, requests } = await provider(t, "openai", [{ body: WIRE.openai.call(BUY) }]);
  assert.deepEqual((await decide(model)).decision, BUY);
  assert.equal(requests.length, 1);
  const { method, url, headers, body } = requests[0];
  assert.deepEqual([method, url], ["POST", "/v1/chat/completions"]);
  assert.deepEqual([headers.authorization, headers["content-type"], headers["x-api-key"]], ["Bearer key-of-the-test", "application/json", undefined]);
  assert.deepEqual(body, {
    model: "model-a",
    messages: [{ role: "system", content: SYSTEM }, { role: "user", content: prompt(VIEW) }],
    tools: [{ type: "function", function: { name: "decide", description: TOOL.description, parameters: SCHEMA } }],
    tool_choice: { type: "function", function: { name: "decide" } },
  });
});

for (const kind of /** @type {Kind[]} */ (["anthropic", "openai"])) {
  const wire = WIRE[kind];
  /** @type {[string, unknown][]} */
  const bad = [
    ["no call of a tool", wire.text],
    ["another tool", wire.call(BUY, "place_order")],
    ["an answer that was cut off", wire.cutOff],
    ["not JSON", "<html>busy</html>"],
    ["JSON of another form", { choices: "none", content: 7 }],
    ["null", null],
    ["arguments that are a list", wire.call([BUY])],
    ["arguments that are null", wire.call(null)],
    ["no arguments", wire.call({})],
    ["an unknown action", wire.call({ ...BUY, action: "sell_all" })],
    ["an action of the prototype", wire.call({ ...BUY, action: "constructor" })],
    ["an unknown argument", wire.call({ ...BUY, market_id: 3 })],
    ["a probability above 1", wire.call({ ...BUY, p_yes: 10_001 })],
    ["a probability below 0", wire.call({ ...BUY, p_yes: -1 })],
    ["a fraction", wire.call({ ...BUY, p_yes: 0.62 })],
    ["a price of text", wire.call({ ...BUY, max_price: "5300" })],
    ["a price out of range", wire.call({ ...BUY, max_price: 10_000 })],
    ["a buy without a price", wire.call({ p_yes: 6_200, action: "buy_yes", qty: 1 })],
    ["a quantity of 0", wire.call({ ...BUY, qty: 0 })],
    ["a quantity above the bound", wire.call({ ...BUY, qty: 11 })],
    ["a huge quantity", wire.call({ ...BUY, qty: 1e300 })],
    ["an answer that is too long", wire.call({ ...BUY, text: "x".repeat(1 << 20) })],
  ];
  if (kind === "openai") bad.push(["arguments that are not JSON", wire.call('{"p_yes": 6200, "action": "buy')]);

  for (const [name, body] of bad) {
    test(`${kind}: ${name}: asked again three times at most, then no decision`, async (t) => {
      const { model, requests } = await provider(t, kind, [{ body }]);
      const { decision, log } = await decide(model);
      assert.equal(decision, null);
      assert.equal(requests.length, 3);
      assert.equal(log.length, 3);
    });
  }

  test(`${kind}: a bad answer, then a good one`, async (t) => {
    const { model, requests } = await provider(t, kind, [{ body: wire.text }, { body: wire.call({ p_yes: 3_000, action: "hold" }) }]);
    assert.deepEqual((await decide(model)).decision, { action: "hold", p_yes: 3_000, max_price: 0, qty: 0 });
    assert.equal(requests.length, 2);
  });

  test(`${kind}: a price beside hold is no order`, async (t) => {
    const { model } = await provider(t, kind, [{ body: wire.call({ ...BUY, action: "hold" }) }]);
    assert.deepEqual((await decide(model)).decision, { action: "hold", p_yes: 6_200, max_price: 0, qty: 0 });
  });

  test(`${kind}: nothing can be bought when the bound is reached`, async (t) => {
    const { model, requests } = await provider(t, kind, [{ body: wire.call({ ...BUY, qty: 1 }) }]);
    assert.equal((await decide(model, {}, { ...VIEW, max_qty: 0 })).decision, null);
    const tool = requests[0].body.tools[0];
    assert.deepEqual((tool.input_schema ?? tool.function.parameters).properties.action.enum, ["hold"]);
  });

  for (const status of [408, 429, 500, 502, 503, 529]) {
    test(`${kind}: status ${status} is asked again`, async (t) => {
      const { model, requests } = await provider(t, kind, [{ status, body: wire.error("overloaded_error") }, { body: wire.call(BUY) }]);
      assert.deepEqual((await decide(model)).decision, BUY);
      assert.equal(requests.length, 2);
    });
  }

  for (const status of [400, 401, 403, 404, 413]) {
    test(`${kind}: status ${status} is not asked again`, async (t) => {
      const { model, requests } = await provider(t, kind, [{ status, body: wire.error("invalid_request_error") }]);
      const { decision, log } = await decide(model);
      assert.equal(decision, null);
      assert.equal(requests.length, 1);
      assert.deepEqual(log, [`model     try 1: status ${status} of the provider`]);
    });
  }

  test(`${kind}: retry-after is obeyed, and a long one is no decision`, async (t) => {
    const soon = await provider(t, kind, [{ status: 429, headers: { "retry-after": "0.25" }, body: wire.error("rate_limit_error") }, { body: wire.call(BUY) }]);
    const begun = process.hrtime.bigint();
    assert.deepEqual((await decide(soon.model)).decision, BUY);
    assert.ok(process.hrtime.bigint() - begun >= 240_000_000n, "asked before the time");
    for (const value of ["3600", new Date(Date.now() + 3_600_000).toUTCString()]) {
      const late = await provider(t, kind, [{ status: 429, headers: { "retry-after": value }, body: wire.error("rate_limit_error") }]);
      assert.equal((await decide(late.model)).decision, null);
      assert.equal(late.requests.length, 1);
    }
    const odd = await provider(t, kind, [{ status: 429, headers: { "retry-after": "soon" }, body: wire.error("rate_limit_error") }, { body: wire.call(BUY) }]);
    assert.deepEqual((await decide(odd.model)).decision, BUY);
  });

  test(`${kind}: a provider that does not answer, or cuts the connection`, async (t) => {
    const silent = await provider(t, kind, [{ silent: true }]);
    const { decision, log } = await decide(silent.model, { timeoutMs: 50, tries: 2 });
    assert.equal(decision, null);
    assert.deepEqual(log, ["model     try 1: timeout", "model     try 2: timeout"]);
    const cut = await provider(t, kind, [{ cut: true }, { body: wire.call(BUY) }]);
    assert.deepEqual((await decide(cut.model)).decision, BUY);
  });

  test(`${kind}: the log has no key and nothing of the answer`, async (t) => {
    for (const answer of [{ status: 401, body: "no key-of-the-test" }, { body: "key-of-the-test" }, { body: wire.call({ ...BUY, action: "key-of-the-test" }) }]) {
      const { model } = await provider(t, kind, [answer]);
      const { log } = await decide(model);
      assert.ok(log.length > 0);
      assert.doesNotMatch(log.join("\n"), /key-of-the-test/);
    }
  });

  test(`${kind}: a redirect is not followed, because it would take the key along`, async (t) => {
    const other = await provider(t, kind, [{ body: wire.call(BUY) }]);
    const { model } = await provider(t, kind, [{ status: 307, headers: { location: other.url + wire.path }, body: "" }]);
    assert.equal((await decide(model)).decision, null);
    assert.equal(other.requests.length, 0);
  });
}

test("an agent that is stopped does not wait for its model", async (t) => {
  const { model, requests } = await provider(t, "openai", [{ silent: true }]);
  const stopped = new AbortController();
  const answer = ask(model, VIEW, stopped.signal, { log: () => {} });
  while (requests.length === 0) await new Promise((done) => setTimeout(done, 5));
  stopped.abort();
  assert.equal(await answer, null);
  assert.equal(requests.length, 1);
});

test("the stub buys what is cheaper than its value", async () => {
  const model = stub();
  const { signal } = new AbortController();
  // 10 dollars above the strike, with a deviation of 6.5 dollars in a second: YES is worth about 6000.
  assert.deepEqual(await model.decide(VIEW, signal), { action: "buy_yes", p_yes: 6_089, max_price: 5_000, qty: 5 });
  assert.equal((await model.decide({ ...VIEW, yes: { bid: 5_900, ask: 6_000 }, no: { bid: 4_000, ask: 4_100 } }, signal)).action, "hold");
  assert.equal((await model.decide({ ...VIEW, index: 64_980 }, signal)).action, "buy_no");
  assert.equal((await model.decide({ ...VIEW, max_qty: 0 }, signal)).action, "hold");
  assert.deepEqual(await model.decide({ ...VIEW, volatility_ppb: 0 }, signal), { action: "hold", p_yes: 5_000, max_price: 0, qty: 0 });
});

test("the environment names the model", () => {
  const full = { MODEL_NAME: "m", MODEL_KEY: "k" };
  assert.ok(fromEnvironment({}));
  assert.ok(fromEnvironment({ MODEL: "anthropic", ...full }));
  assert.ok(fromEnvironment({ MODEL: "openai", MODEL_URL: "http://localhost:8000/", ...full }));
  assert.throws(() => fromEnvironment({ MODEL: "anthropic", MODEL_NAME: "m" }), /MODEL_NAME and MODEL_KEY/);
  assert.throws(() => fromEnvironment({ MODEL: "toString", ...full }), /stub, anthropic or openai/);
  assert.throws(() => fromEnvironment({ MODEL: "openai", MODEL_URL: "http://example.com", ...full }), /https/);
});
