// Tests the agent lane with an official client: it lists the tools, calls every read-only tool,
// places a resting order and cancels it. The clients validate each answer against the tool's output
// schema.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";

const SECOND = 1_000_000_000n;

// trip runs the test with a connected client, { listTools, callTool }.
export async function trip(client) {
  const { tools } = await client.listTools();
  assert(tools.length > 20, `only ${tools.length} tools`);
  const call = async (name, args) => {
    const answer = await client.callTool({ name, arguments: args });
    assert(!answer.isError, `${name} ${JSON.stringify(args)}: ${JSON.stringify(answer.structuredContent)}`);
    assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent, `${name}: two answers`);
    return answer.structuredContent;
  };
  const market = await longest(call);
  const order = { market_id: market.market_id, generation: market.generation, side: "buy", outcome: "yes", qty: 1, tick: 100, post_only: true };
  const placed = await call("place_order", { client_order_id: fresh(), ...order });
  assert.equal(placed.status, "resting");
  const given = { market_id: market.market_id, order_id: placed.order_id, after_seq: "0" };
  const reads = tools.filter((tool) => tool.annotations.readOnlyHint);
  for (const { name, inputSchema } of reads) {
    await call(name, name === "preview_order" ? { client_order_id: fresh(), ...order } : wanted(name, inputSchema, given));
  }
  await call("cancel_order", { order_id: placed.order_id });
  assert.equal((await call("get_order", { order_id: placed.order_id })).status, "canceled");
  return `${tools.length} tools listed, ${reads.length} reads called, one order placed and canceled`;
}

// wanted returns the required arguments of a tool, from the given values.
function wanted(name, { required = [] }, given) {
  for (const member of required) assert(member in given, `${name} requires ${member}, which this test does not provide`);
  return Object.fromEntries(required.map((member) => [member, given[member]]));
}

// fresh returns a new client_order_id.
const fresh = () => String(BigInt(Date.now()) * 1_000_000n + BigInt(randomInt(1_000_000)));

// longest returns the market that closes last. If all of them close within 15 s, it waits for the
// next round.
async function longest(call) {
  for (;;) {
    const { time } = await call("get_venue", {});
    const { markets, as_of_seq: seq } = await call("list_markets", { status: "trading" });
    const left = (market) => BigInt(market.close_ts) - BigInt(time.server_time);
    const [first] = markets.toSorted((a, b) => (left(b) > left(a) ? 1 : -1));
    if (first && left(first) > 15n * SECOND) return first;
    await call("wait_for_event", { after_seq: seq, kinds: ["round"] });
  }
}
