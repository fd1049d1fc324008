// Reads the results of a conformance run and fails unless every scenario that the revision requires
// was run and passed.
// Usage: node scored.mjs DIRECTORY REVISION
import { globSync, readFileSync } from "node:fs";
import { parse } from "yaml";

const [directory, revision] = process.argv.slice(2);
const { server } = parse(readFileSync(new URL(`node_modules/conformance/requirements/${revision}.yaml`, import.meta.url), "utf8"));
let clean = 0;
let checks = 0;
for (const scenario of server) {
  const files = globSync(`${directory}/server-${scenario}-2???-??-??T*/checks.json`);
  const found = files.flatMap((file) => JSON.parse(readFileSync(file, "utf8")));
  const passed = found.filter((check) => check.status === "SUCCESS").length;
  const bad = found.filter((check) => !["SUCCESS", "INFO", "SKIPPED"].includes(check.status));
  for (const check of bad) console.log(`${scenario}: ${check.id}: ${check.status}: ${check.errorMessage}`);
  if (passed === 0) console.log(`${scenario}: no check passed`);
  if (passed > 0 && bad.length === 0) clean++;
  checks += passed;
}
console.log(`${revision}: ${clean} of ${server.length} required scenarios, ${checks} checks passed`);
process.exit(clean === server.length && clean > 0 ? 0 : 1);
