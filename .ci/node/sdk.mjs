// Tests the official TypeScript clients, versions 1 and 2, over the bridge and over the proxy.
// Usage: node sdk.mjs DX PROXY, with DX_DEV_FILE and DX_AS in the environment.
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import * as v2stdio from "@modelcontextprotocol/client/stdio";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import * as v1stdio from "@modelcontextprotocol/sdk/client/stdio.js";
import * as v1http from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { trip } from "./trip.mjs";

const [dx, proxy] = process.argv.slice(2);
const self = { name: "official-client", version: "1" };
const bridge = { command: dx, args: ["mcp"], env: process.env, stderr: "inherit" };

const old = () => new v1.Client(self);
const auto = () => new v2.Client(self, { versionNegotiation: { mode: "auto" } });
for (const [name, client, transport, revision] of [
  ["sdk 1 over the bridge", old(), new v1stdio.StdioClientTransport(bridge), "2025-11-25"],
  ["sdk 1 over the proxy", old(), new v1http.StreamableHTTPClientTransport(new URL(proxy)), "2025-11-25"],
  ["client 2 over the bridge", auto(), new v2stdio.StdioClientTransport(bridge), "2026-07-28"],
  ["client 2 over the proxy", auto(), new v2.StreamableHTTPClientTransport(new URL(proxy)), "2026-07-28"],
]) {
  client.onerror = (error) => { throw error; };
  await client.connect(transport);
  const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
  assert(spoken === revision || spoken === undefined, `${name} speaks ${spoken}`); // version 1 does not report it over stdio
  console.log(`${name}, ${revision}: ${await trip(client)}`);
  // An invalid request gets a protocol error, and the connection stays usable.
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 }, `${name}: an unknown tool`);
  await assert.rejects(client.readResource({ uri: "dx://nowhere" }), { code: -32602 }, `${name}: an unknown resource`);
  assert(!(await client.callTool({ name: "get_balance", arguments: {} })).isError, `${name}: after mistakes`);
  await client.close();
}
