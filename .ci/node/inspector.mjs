// Runs the protocol's inspector over the bridge, in each protocol era, with one process per call.
// It must print only the answer: no warning about a schema and no log line of the bridge.
// Usage: node inspector.mjs DX, with DX_DEV_FILE and DX_AS in the environment.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { trip } from "./trip.mjs";

const [dx] = process.argv.slice(2);
const program = fileURLToPath(new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));
const environment = ["DX_DEV_FILE", "DX_AS"].flatMap((name) => ["-e", `${name}=${process.env[name]}`]);

for (const era of ["modern", "auto", "legacy"]) {
  const inspect = (...args) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [program, "--cli", "--protocol-era", era, "--format", "json", ...environment, ...args, dx, "mcp"],
      { encoding: "utf8", timeout: 60_000, maxBuffer: 1 << 24 },
    );
    assert(status === 0 && stderr === "", `${era} ${args.join(" ")}: exit ${status}\n${stderr}${stdout}`);
    return JSON.parse(stdout).result;
  };
  const client = {
    listTools: () => inspect("--strict", "--method", "tools/list"),
    callTool: ({ name, arguments: given }) => inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(given)),
  };
  console.log(`inspector, ${era}: ${await trip(client)}`);
}
