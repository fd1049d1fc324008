// Compiled and not run: what the types promise.
import { Client, type Message, type Schemas, Stream } from "duplex-client";

export async function lists(client: Client): Promise<string[]> {
  const out: string[] = [];
  for await (const order of client.allOrders({ status: ["resting"], side: "buy", limit: 100 })) out.push(order.client_order_id);
  for await (const trade of client.allTrades(1, { from_ts: "0" })) out.push(trade.taker_side);
  // @ts-expect-error: no such filter
  client.allFills({ status: "resting" });
  // @ts-expect-error: the iterator passes the cursor
  client.allOrders({ cursor: "x" });
  return out;
}

export async function place(client: Client, order: Schemas["PlaceOrder"]): Promise<string> {
  const placed = await client.place(order);
  // @ts-expect-error: what waits has no order_id
  placed.order_id;
  if (placed.status === "waiting") console.log(placed.approval_id satisfies string);
  if ("approval_id" in placed) return `${placed.status} ${placed.approval_id} until ${placed.expires_ts}`;
  for (const result of await client.placeBatch([order])) if ("status" in result && result.status === "waiting") console.log(result.approval_id, result.approve_url);
  for await (const asked of client.allApprovals({ status: ["waiting"] })) console.log(asked.agent, asked.cost);
  const replaced = await client.replace("7", { client_order_id: "8", tick: 5000 });
  return `${placed.order_id} ${replaced.order_id}`;
}

export async function follow(client: Client): Promise<void> {
  // @ts-expect-error: no such channel
  new Stream(client, ["ticker"]);
  const stream = new Stream(client, ["orderbook_delta", "user"], [1], { silence: 5000, onLate: (market: number, age: number) => console.log(market + age), onDisconnect: (e: Error, since: Date) => console.log(e.message, since) });
  for await (const { type, msg } of stream) {
    if (type === "trade") console.log(msg.tick_yes + msg.qty);
    if (type === "user" && msg.event === "fill") console.log(msg.role satisfies "maker" | "taker");
    if (type === "user" && msg.event === "approval") console.log(msg.approval.status satisfies Schemas["AgentApproval"]["status"]);
    if (type === "user_snapshot") console.log(msg.approvals.map((a) => a.expires_ts));
    if (type === "user" && msg.event === "order") console.log(msg.order.status satisfies Schemas["Order"]["status"]);
  }
  const [tick, qty]: [number, number] = stream.book(1)?.yes[0] ?? [0, 0];
  console.log(tick, qty);
}

/** Each type of message is named; another one does not compile. */
export function name(message: Message): string {
  switch (message.type) {
    case "subscribed":
      return message.msg.channel;
    case "orderbook_snapshot":
    case "orderbook_delta":
    case "trade":
    case "round":
      return String(message.msg.market_id);
    case "oracle":
      return message.msg.price;
    case "draining":
      return message.msg.close_ts;
    case "user_snapshot":
      return message.msg.cash;
    case "user":
      return message.msg.event;
    default:
      return message satisfies never;
  }
}
