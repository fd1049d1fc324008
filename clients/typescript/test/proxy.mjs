// Runs the built package through a proxy to the dev venue that DX_DEV_FILE describes. Needs undici: node --test test/proxy.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import net from "node:net";
import { test } from "node:test";
import { Client, Stream } from "duplex-client";

const dev = JSON.parse(readFileSync(process.env.DX_DEV_FILE, "utf8"));
const [{ api_key, secret }] = dev.accounts;
const port = Number(new URL(dev.api).port);

test("requests and the stream pass the proxy, except to loopback and NO_PROXY", async (t) => {
  const asked = [];
  // The proxy alone knows venue.test. It makes tunnels, which carry requests and the WebSocket.
  const proxy = createServer();
  proxy.on("connect", (request, near) => {
    asked.push(request.url);
    const far = net.connect(port, "127.0.0.1", () => {
      near.write("HTTP/1.1 200 OK\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    for (const socket of [near, far]) socket.on("error", () => {});
    near.on("close", () => far.destroy());
  });
  await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
  t.after(() => (proxy.close(), proxy.closeAllConnections()));
  process.env.HTTP_PROXY = `127.0.0.1:${proxy.address().port}`;
  t.after(() => delete process.env.HTTP_PROXY);

  const client = new Client("http://venue.test", api_key, secret);
  assert.equal((await client.call("GET", "/v1/time")).clock, "wall");
  for await (const { type } of new Stream(client, ["user"])) if (type === "user_snapshot") break;
  assert.ok(asked.length > 0 && asked.every((target) => target === "venue.test:80"), String(asked));

  const before = asked.length;
  await new Client(dev.api, api_key, secret).call("GET", "/v1/time");
  process.env.NO_PROXY = "venue.test";
  t.after(() => delete process.env.NO_PROXY);
  const direct = new Client("http://venue.test", api_key, secret);
  direct.sleep = async () => {
    throw new Error("not found");
  };
  await assert.rejects(direct.call("GET", "/v1/time"), /not found/);
  assert.equal(asked.length, before);
});
