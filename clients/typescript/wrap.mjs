// Prints the schemas of the event lane's document (AsyncAPI) as an OpenAPI document, which openapi-typescript reads.
import { readFileSync } from "node:fs";

const { info, components } = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify({ openapi: "3.1.0", info: { title: info.title, version: info.version }, paths: {}, components: { schemas: components.schemas } }));
