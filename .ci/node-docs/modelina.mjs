// Writes TypeScript types of an AsyncAPI document's messages into a folder, one file each, with Modelina.
import { readFileSync, writeFileSync } from "node:fs";
import { TypeScriptGenerator } from "@asyncapi/modelina";

const [path, folder] = process.argv.slice(2);
const generator = new TypeScriptGenerator({ modelType: "interface" });
const models = await generator.generateCompleteModels(JSON.parse(readFileSync(path, "utf8")), { exportType: "named" });
for (const m of models) writeFileSync(`${folder}/${m.modelName}.ts`, m.result);
console.log(`${models.length} types`);
