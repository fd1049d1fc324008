// Uses the client of @hey-api/openapi-ts, and checks the address that it asks for.
import { client } from "./api/client.gen";
import { listOrders, placeOrders } from "./api/sdk.gen";
import type { ErrorCode, PlaceResult, RoundRead } from "./api/types.gen";

export function codes(results: PlaceResult[]): ErrorCode[] {
  return results.flatMap((r) => ("error" in r ? [r.error.code] : []));
}

export const winner = (round: RoundRead): "yes" | "no" | null => round.winner;
export const place = placeOrders;

let asked = "";
client.setConfig({
  baseUrl: "http://venue.example",
  fetch: async (request) => {
    asked = decodeURIComponent((request as Request).url);
    return new Response("{}", { headers: { "Content-Type": "application/json" } });
  },
});
listOrders({ query: { status: ["resting", "canceled"], limit: 5 }, throwOnError: true }).then(() => {
  if (asked !== "http://venue.example/v1/portfolio/orders?status=resting,canceled&limit=5") throw new Error(`asked for ${asked}`);
});
