// Connects the official TypeScript clients, versions 1 and 2, to a dev venue with nothing but the address of its
// agent lane: they find the portal, register, and go through the page of consent in a browser to a filled order.
// At 1440 and 390 pixels, from a popup of another origin, and a second time with the agent that the client had.
// Then runs the protocol's suite for authorization servers.
// Usage: node oauth.mjs DEVFILE [SCREENSHOTS]
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import * as v2 from "@modelcontextprotocol/client";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import * as v1auth from "@modelcontextprotocol/sdk/client/auth.js";
import * as v1http from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { openBrowser } from "../../lanes/portal/web/e2e/browser.mjs";
import { trip } from "./trip.mjs";

const [devFile, shots] = process.argv.slice(2);
const { mcp, portal, accounts: [owner] } = JSON.parse(readFileSync(devFile));

// A host: its page opens the popup, and its redirect gives the code to it, as hosts on the web do.
const redirects = [];
let arrived;
const host = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  response.setHeader("Content-Type", "text/html");
  if (url.pathname === "/favicon.ico") {
    response.end();
  } else if (url.pathname === "/back") {
    redirects.push(url);
    arrived?.();
    response.end("<!doctype html><title>back</title><script>opener?.postMessage(location.search, '*')</script>Connected.");
  } else {
    response.end("<!doctype html><title>host</title><p>a host</p><script>addEventListener('message', (e) => { document.title = 'told ' + e.data })</script>");
  }
}).listen(0, "localhost");
await once(host, "listening");
const home = `http://localhost:${host.address().port}`;

// Memory keeps what a client stores, and hands the page of consent to the browser.
class Memory {
  #client; #tokens; #verifier; #state; #found;
  constructor(name, open) { this.name = name; this.open = open; }
  get redirectUrl() { return `${home}/back`; }
  get clientMetadata() {
    return { client_name: this.name, redirect_uris: [this.redirectUrl], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "client_secret_post" };
  }
  state() { return (this.#state = crypto.randomUUID()); }
  clientInformation() { return this.#client; }
  saveClientInformation(client) { this.#client = client; }
  tokens() { return this.#tokens; }
  saveTokens(tokens) { this.#tokens = tokens; }
  discoveryState() { return this.#found; }
  saveDiscoveryState(found) { this.#found = found; }
  codeVerifier() { return this.#verifier; }
  saveCodeVerifier(verifier) { this.#verifier = verifier; }
  async redirectToAuthorization(url) { this.opened = this.open(url); }
  // answer is what came back, checked as a client does that fears a mix-up.
  async answer() {
    const query = (await this.opened).searchParams;
    assert.equal(query.get("state"), this.#state, "state");
    assert.equal(query.get("iss"), portal, "iss");
    return query;
  }
  forget() { this.#tokens = undefined; }
}

// decide signs in, if the tab has no token, and presses Allow.
async function decide(page, name) {
  await page.locator('[data-test="client"]').waitFor();
  assert.equal(await page.locator('[data-test="client"]').textContent(), name);
  const token = page.locator('input[name="token"]'), allow = page.locator('[data-test="allow"]');
  await token.or(allow).first().waitFor();
  if (await token.isVisible()) {
    await token.fill(owner.account_token);
    await page.getByRole("button", { name: "Continue" }).click();
  }
  await allow.waitFor();
  if (shots) await page.screenshot({ path: `${shots}/oauth-${page.viewportSize().width}-${name.replaceAll(/\W/g, "-")}.png`, fullPage: true });
  await page.locator('[data-test="allow"]:not([aria-disabled="true"])').click(); // it is off for a moment, so that no double press decides
}

async function back(open) {
  const came = new Promise((resolve) => (arrived = resolve));
  await open();
  await came;
  return redirects.at(-1);
}

// fill buys one contract at the price that is offered.
async function fill(client) {
  const call = async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent;
  for (let i = 0; i < 20; i++) {
    const { markets } = await call("list_markets", { status: "trading" });
    for (const m of markets) {
      const book = await call("get_orderbook", { market_id: m.market_id });
      const tick = book.no?.[0] ? 10_000 - book.no[0][0] : 0;
      if (!tick) continue;
      const placed = await call("place_order", { client_order_id: `${Date.now()}${i}`, market_id: m.market_id, generation: m.generation, side: "buy", outcome: "yes", qty: 1, tick, tif: "ioc" });
      if (placed.filled_qty === 1) return `1 contract at ${tick}`;
    }
  }
  throw new Error("no order was filled");
}

const browsers = [];
for (const [width, height] of [[1440, 900], [390, 844]]) {
  const browser = await openBrowser({ width, height });
  browsers.push(browser);
  const { page } = browser;
  const straight = (name) => (url) => back(async () => {
    await page.goto(String(url));
    await decide(page, name);
    await page.waitForURL((url) => url.pathname === "/back");
  });
  const popup = (name) => (url) => back(async () => {
    await page.goto(home);
    const opened = page.waitForEvent("popup");
    await page.evaluate((to) => void window.open(to, "_blank", "width=480,height=800"), String(url));
    const window = await opened;
    await decide(window, name);
    await page.waitForFunction(() => document.title.startsWith("told ?code="));
    await window.close();
  });
  for (const [name, way, answer, make] of [
    [`sdk 1 at ${width}`, straight, (query) => query.get("code"), () => [new v1.Client({ name: "official-client", version: "1" }), (authProvider) => new v1http.StreamableHTTPClientTransport(new URL(mcp), { authProvider }), v1auth.UnauthorizedError]],
    [`client 2 at ${width}`, popup, (query) => query, () => [new v2.Client({ name: "official-client", version: "1" }, { versionNegotiation: { mode: "auto" } }), (authProvider) => new v2.StreamableHTTPClientTransport(new URL(mcp), { authProvider }), v2.UnauthorizedError]],
  ]) {
    const memory = new Memory(name, way(name));
    const agents = [];
    for (const again of [false, true]) {
      memory.forget();
      const [first, transport, Unauthorized] = make();
      const asking = transport(memory);
      await assert.rejects(first.connect(asking), Unauthorized, `${name}: without a token`);
      const query = await memory.answer();
      await asking.finishAuth(answer(query));
      const [client] = make();
      await client.connect(transport(memory));
      agents.push((await client.callTool({ name: "get_account", arguments: {} })).structuredContent.name);
      if (!again) {
        console.log(`${name}: ${await trip(client)}; filled ${await fill(client)}`);
        // The next access token, by the client's own refresh.
        const before = memory.tokens();
        memory.saveTokens({ ...before, access_token: "dxt_ended" });
        assert(!(await client.callTool({ name: "get_account", arguments: {} })).isError, `${name}: after a refresh`);
        assert.notEqual(memory.tokens().refresh_token, before.refresh_token, `${name}: the refresh token`);
      }
      await client.close();
    }
    assert.equal(agents[0], agents[1], `${name}: the agent of the second time`);
    console.log(`${name}: the second time with the agent ${agents[1]}, by one press`);
  }
}

// The suite registers nothing: it gets a client, and waits for a person.
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const { port } = probe.address();
probe.close();
const made = await fetch(`${portal}/oauth/register`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ client_name: "conformance", redirect_uris: [`http://127.0.0.1:${port}/callback`] }) });
const { client_id } = await made.json();
const suite = spawn(process.execPath, [fileURLToPath(import.meta.resolve("conformance/dist/index.js")), "authorization", "--url", portal, "--client-id", client_id, "--resource", mcp, "--port", String(port)], { stdio: ["ignore", "pipe", "inherit"] });
const lines = [];
for await (const line of createInterface(suite.stdout)) {
  lines.push(line);
  if (line.startsWith(`${portal}/oauth/authorize?`)) {
    const { page } = browsers[0];
    await page.goto(line);
    await decide(page, "conformance");
  }
}
if (suite.exitCode === null) await once(suite, "exit");
const text = lines.join("\n");
console.log(lines.slice(-12).join("\n"));
assert.equal(suite.exitCode, 0, text);
assert(!/FAILURE|failed: [1-9]/i.test(text), text);

for (const browser of browsers) {
  // The suite's own page has no icon, and is gone when the browser asks for one.
  assert.deepEqual(browser.troubles.filter((t) => !t.endsWith(`http://127.0.0.1:${port}/favicon.ico`)), [], "what the browser complained about");
  await browser.close();
}
host.close();
host.closeAllConnections();
