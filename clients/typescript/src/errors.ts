// The errors of the client, and what they say about the request.
import type { components } from "./api.js";

/** A response other than 2xx. Its code is "" if the response is not the venue's, such as a proxy's. */
export class VenueError extends Error {
  readonly code: string;
  readonly origin: string;
  readonly details: Record<string, string>;
  /** Of duplicate_client_order_id after a lost response: the other order, or its approval, which has the client_order_id. */
  order?: components["schemas"]["Order"] | components["schemas"]["AgentApproval"];
  constructor(
    readonly status: number,
    error: { code: string; origin: string; details: Record<string, string> | null; field?: string; hint?: string },
    /** The Date header: the venue's clock, cut to the second. */
    readonly date = "",
  ) {
    super([error.code ? `${error.code} (${status})` : `no response of the venue: HTTP status ${status}`, error.field, error.hint].filter(Boolean).join(": "));
    this.code = error.code;
    this.origin = error.origin;
    this.details = error.details ?? {};
  }

  /** The time in milliseconds that the venue asks to wait, if it names one. */
  get retryAfter(): number | undefined {
    const ms = this.details["retry_after_ms"];
    return ms !== undefined && /^[0-9]+$/.test(ms) ? Number(ms) : undefined;
  }
}
VenueError.prototype.name = "VenueError";

/** A write got no response that says what became of it: it may have been executed. Read the state before you repeat it. */
export class UnknownOutcome extends Error {}
UnknownOutcome.prototype.name = "UnknownOutcome";

/** The request got no connection, so it was certainly not executed: refused, no such host, TLS to a plain port. */
export class NotExecuted extends Error {}
NotExecuted.prototype.name = "NotExecuted";

/** The request was not executed, so a new request with a new signature is safe (docs/rules/errors.md#retry-safe). */
const safe: ReadonlySet<string> = new Set(["rate_limited", "too_many_connections", "shed", "draining", "node_behind", "history_behind", "funding_unavailable"]);
/** The request may have been executed (docs/rules/errors.md#retry-unknown). */
const unknown: ReadonlySet<string> = new Set(["sequencing_timeout", "internal"]);

/**
 * What an error says about its request: "final" if another attempt gets the same error, "safe" if the request
 * was not executed, "unknown" if it may have been. A code that is not known here is of a later version of the
 * venue, or of a proxy: its status decides.
 */
export function verdict(error: unknown): "final" | "safe" | "unknown" {
  if (!(error instanceof VenueError)) return error instanceof NotExecuted ? "safe" : "unknown";
  if (safe.has(error.code)) return "safe";
  return unknown.has(error.code) || error.status >= 500 ? "unknown" : "final";
}

const noConnection = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "EAI_NONAME", "EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "ENETDOWN", "UND_ERR_CONNECT_TIMEOUT", "EPROTO"]);
const noTrust = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH_EXCEEDED|INVALID_PURPOSE)/;

/**
 * Reports whether an error of fetch says that no connection was made, so that the venue has not seen the request.
 * Node gives the cause. A browser gives none, so there every such error may mean a lost response.
 */
export function isNotExecuted(error: unknown): boolean {
  for (let e = error, depth = 0; e instanceof Error && depth < 8; e = e.cause, depth++) {
    const { code = "", syscall, errors } = e as Error & { code?: unknown; syscall?: string; errors?: unknown[] };
    if (e.message === "bad port") return true; // fetch blocks some
    // One error for each address of the host.
    if (Array.isArray(errors) && errors.length > 0) return errors.every(isNotExecuted);
    if (typeof code !== "string") continue;
    if (noConnection.has(code) || noTrust.test(code) || syscall === "connect") return true;
    // TLS can also break after the request was sent: a damaged record says nothing about it.
    if (code.startsWith("ERR_SSL_") && !/BAD_RECORD_MAC|DECRYPT/.test(code)) return true;
  }
  return false;
}
