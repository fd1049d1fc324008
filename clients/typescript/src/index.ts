export type { Book, Level } from "./books.js";
export { Client, type ClientOptions, type Filter, type Limits } from "./client.js";
export { NotExecuted, UnknownOutcome, VenueError } from "./errors.js";
export { type Channel, type Message, Stream, type StreamOptions, type UserMessage } from "./stream.js";
export { clientOrderId, sign } from "./values.js";
import type { components } from "./api.js";

/** The bodies of the REST interface, by name. */
export type Schemas = components["schemas"];
