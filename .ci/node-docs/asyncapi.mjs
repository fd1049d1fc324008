// Reads an AsyncAPI document with the reference parser and fails on every diagnostic that is not
// ignored here with a reason.
import { readFileSync } from "node:fs";
import { Parser, DiagnosticSeverity } from "@asyncapi/parser";

const ignored = {
  // Generators read 3.0.0; 3.1.0 adds nothing that the document uses.
  "asyncapi-latest-version": true,
};

const [path] = process.argv.slice(2);
const { document, diagnostics } = await new Parser().parse(readFileSync(path, "utf8"), { source: path });
const found = diagnostics.filter((d) => !ignored[d.code]);
for (const d of found) {
  console.log(`${DiagnosticSeverity[d.severity]} ${d.code} ${d.path.join(".")}: ${d.message}`);
}
if (document) {
  console.log(`${path}: ${document.channels().length} channels, ${document.operations().length} operations, ${document.messages().length} messages`);
}
process.exit(document && found.length === 0 ? 0 : 1);
