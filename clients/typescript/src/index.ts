export { Client, sign, UnknownOutcome, VenueError } from "./client.js";
export { Stream, type Message } from "./stream.js";
import type { components } from "./api.js";

/** The bodies of the REST interface, by name. */
export type Schemas = components["schemas"];
