// Uses the generated types as a client would. It compiles if the types match the venue's requests
// and answers.
import type { components, paths } from "./api";

type Json<Response> = Response extends { content: { "application/json": infer Body } } ? Body : never;
type Place = paths["/v1/portfolio/orders"]["post"];

export const order: components["schemas"]["PlaceOrder"] = {
  client_order_id: "1", market_id: 1, side: "buy", outcome: "yes", tick: 4700, qty: 10,
};

export function filled(placed: Json<Place["responses"][201]>): string {
  return placed.fills.map((f) => `${f.qty} at ${f.tick_yes} by ${f.path}`).join();
}

export function winner(round: Json<paths["/v1/rounds/{market_id}"]["get"]["responses"][200]>): string {
  return round.winner === null ? "undecided" : round.winner.toUpperCase();
}

export function retryAfter(rejected: Json<Place["responses"][429]>): number {
  return Number(rejected.error.details?.["retry_after_ms"] ?? 0);
}

// @ts-expect-error the quantity is missing
export const wrong: components["schemas"]["PlaceOrder"] = { client_order_id: "1", market_id: 1, side: "buy", outcome: "yes" };
