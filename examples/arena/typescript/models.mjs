// @ts-check
// The models: a fixed rule, and adapters for two providers' APIs. Plain fetch; nothing to install.
import { BadAnswer, SYSTEM, TOOL, prompt, validate } from "./decision.mjs";

/** @typedef {import("./decision.mjs").Model} Model */
/** @typedef {import("./decision.mjs").View} View */
/** @typedef {import("./decision.mjs").Decision} Decision */
/** @typedef {import("./decision.mjs").Usage} Usage */
/**
 * @typedef {{ url: string, key: string, model: string, prices?: { prompt: number, completion: number } }} Provider
 *   url is the part before /v1; prices are dollars for a million tokens, 0 by default
 */

const MAX_TOKENS = 1024;
const MAX_BYTES = 1 << 20; // of an answer

/** There is no answer of the model. */
export class Unavailable extends Error {
  /** @param {string} message @param {boolean} retryable @param {number} [afterMs] the time to wait first */
  constructor(message, retryable, afterMs) {
    super(message);
    this.retryable = retryable;
    this.afterMs = afterMs;
  }
}

/**
 * A rule in place of a model: the value of a digital option on a random walk, with an edge of 300
 * pips. It needs no network, and decides the same about the same view.
 * @returns {Model}
 */
export function stub() {
  return {
    async decide(view) {
      const seconds = Math.max(view.seconds_to_close - 5, 1);
      const deviation = view.strike * (view.volatility_ppb / 1e9) * Math.sqrt(seconds);
      // Without a volatility there is no view.
      const p_yes = deviation > 0 ? Math.round(10_000 * normal((view.index - view.strike) / deviation)) : 5_000;
      const edge = { yes: p_yes - view.yes.ask, no: 10_000 - p_yes - view.no.ask };
      for (const outcome of /** @type {const} */ (["yes", "no"])) {
        const { ask } = view[outcome];
        if (deviation > 0 && ask > 0 && edge[outcome] >= 300 && view.max_qty > 0) {
          return validate({ p_yes, action: outcome === "yes" ? "buy_yes" : "buy_no", max_price: ask, qty: Math.min(5, view.max_qty) }, view);
        }
      }
      return validate({ p_yes, action: "hold" }, view);
    },
  };
}

/** The logistic approximation of the normal distribution, which is within 0.01 of it. @param {number} z */
const normal = (z) => 1 / (1 + Math.exp(-1.702 * z));

/**
 * What an answer took, in tokens and dollars. A provider that does not say counts as none.
 * @param {Provider} provider @param {unknown} prompt @param {unknown} completion @returns {Usage}
 */
function usageOf({ model, prices }, prompt, completion) {
  const [prompt_tokens, completion_tokens] = [prompt, completion].map((n) => (Number.isSafeInteger(n) && Number(n) > 0 ? Number(n) : 0));
  const cost = ((prices?.prompt ?? 0) * prompt_tokens + (prices?.completion ?? 0) * completion_tokens) / 1e6;
  return { model, prompt_tokens, completion_tokens, cost: cost.toFixed(9) };
}

/**
 * Anthropic's Messages API, with a forced call of the tool.
 * @param {Provider} provider @returns {Model}
 */
export function anthropic(provider) {
  const { url, key, model } = provider;
  /** @type {Usage[]} */
  const used = [];
  return {
    used,
    async decide(view, signal) {
      const answer = await post(`${url}/v1/messages`, { "x-api-key": key, "anthropic-version": "2023-06-01" }, {
        model,
        max_tokens: MAX_TOKENS,
        system: SYSTEM,
        messages: [{ role: "user", content: prompt(view) }],
        tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema(view.max_qty) }],
        tool_choice: { type: "tool", name: TOOL.name, disable_parallel_tool_use: true },
      }, signal);
      used.push(usageOf(provider, answer?.usage?.input_tokens, answer?.usage?.output_tokens));
      // An answer that was cut off at max_tokens may hold a part of the arguments.
      if (answer?.stop_reason === "max_tokens") throw new BadAnswer("the answer was cut off");
      const calls = list(answer?.content).filter((block) => block?.type === "tool_use");
      if (calls.length !== 1 || calls[0].name !== TOOL.name) throw new BadAnswer(`not one call of ${TOOL.name}`);
      return validate(calls[0].input, view);
    },
  };
}

/**
 * The chat completions of OpenAI, which many other servers offer too, with a forced call of the
 * tool.
 * @param {Provider} provider @returns {Model}
 */
export function openai(provider) {
  const { url, key, model } = provider;
  /** @type {Usage[]} */
  const used = [];
  return {
    used,
    async decide(view, signal) {
      const answer = await post(`${url}/v1/chat/completions`, { authorization: `Bearer ${key}` }, {
        model,
        messages: [{ role: "system", content: SYSTEM }, { role: "user", content: prompt(view) }],
        tools: [{ type: "function", function: { name: TOOL.name, description: TOOL.description, parameters: TOOL.schema(view.max_qty) } }],
        tool_choice: { type: "function", function: { name: TOOL.name } },
      }, signal);
      used.push(usageOf(provider, answer?.usage?.prompt_tokens, answer?.usage?.completion_tokens));
      const choice = list(answer?.choices)[0];
      if (choice?.finish_reason === "length") throw new BadAnswer("the answer was cut off");
      const calls = list(choice?.message?.tool_calls);
      if (calls.length !== 1 || calls[0]?.function?.name !== TOOL.name) throw new BadAnswer(`not one call of ${TOOL.name}`);
      return validate(parse(calls[0].function.arguments), view);
    },
  };
}

/** @param {unknown} value @returns {any[]} */
const list = (value) => (Array.isArray(value) ? value : []);

/** @param {unknown} text @returns {any} */
function parse(text) {
  if (typeof text !== "string") throw new BadAnswer("arguments are not a string");
  try {
    return JSON.parse(text);
  } catch {
    throw new BadAnswer("arguments are not JSON");
  }
}

/**
 * Sends one request to a provider and returns the JSON of its answer. Errors never hold the key or
 * the text of the answer.
 * @param {string} url @param {Record<string, string>} headers @param {object} body @param {AbortSignal} signal
 */
async function post(url, headers, body, signal) {
  let answer, text;
  try {
    answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body), redirect: "error", signal });
    text = await read(answer);
  } catch (e) {
    if (e instanceof BadAnswer) throw e;
    throw new Unavailable(signal.aborted ? "timeout" : "no connection to the provider", true);
  }
  if (answer.ok) return parse(text);
  const { status } = answer;
  throw new Unavailable(`status ${status} of the provider`, status === 408 || status === 409 || status === 429 || status >= 500, retryAfter(answer.headers.get("retry-after")));
}

/** Reads an answer of at most MAX_BYTES. @param {Response} answer */
async function read(answer) {
  const chunks = [];
  let size = 0;
  for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (answer.body ?? []))) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new BadAnswer("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Parses a header retry-after: seconds, or a date. @param {string | null} text */
function retryAfter(text) {
  if (text === null) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined;
}

/**
 * @typedef {{ tries: number, timeoutMs: number, baseMs: number, maxWaitMs: number, log(line: string): void }} Limits
 *   timeoutMs is for one try; a provider that asks for a longer wait than maxWaitMs is not asked again
 */

/** @type {Limits} */
export const LIMITS = { tries: 3, timeoutMs: 30_000, baseMs: 500, maxWaitMs: 20_000, log: (line) => console.error(line) };

/**
 * Asks a model, up to limits.tries times, and returns null if it has no usable answer: then there
 * is no trade. It never throws because of a model.
 * @param {Model} model @param {View} view @param {AbortSignal} signal ends it
 * @param {Partial<Limits>} [some] @returns {Promise<Decision | null>}
 */
export async function ask(model, view, signal, some) {
  const limits = { ...LIMITS, ...some };
  for (let n = 1; !signal.aborted; n++) {
    try {
      return await model.decide(view, AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]));
    } catch (e) {
      const known = e instanceof BadAnswer || e instanceof Unavailable;
      limits.log(`model     try ${n}: ${known ? e.message : `fault ${e}`}`);
      const retryable = e instanceof BadAnswer || (e instanceof Unavailable && e.retryable);
      if (!retryable || n >= limits.tries) return null;
      const wait = (e instanceof Unavailable ? e.afterMs : 0) ?? limits.baseMs * 2 ** (n - 1);
      if (wait > limits.maxWaitMs) return null;
      await pause(wait, signal);
    }
  }
  return null;
}

/** Waits, or until signal. @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
export function pause(ms, signal) {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

/**
 * Returns the model that the environment names: MODEL is stub (the default), anthropic or openai;
 * MODEL_NAME, MODEL_KEY, MODEL_URL and MODEL_PRICES configure a provider.
 * @param {Record<string, string | undefined>} env @returns {Model}
 */
export function fromEnvironment(env) {
  const kind = env.MODEL || "stub";
  if (kind === "stub") return stub();
  const providers = { anthropic: { make: anthropic, url: "https://api.anthropic.com" }, openai: { make: openai, url: "https://api.openai.com" } };
  if (!Object.hasOwn(providers, kind)) throw new Error(`MODEL: stub, anthropic or openai, not ${kind}`);
  const { make, url } = providers[/** @type {keyof typeof providers} */ (kind)];
  if (!env.MODEL_NAME || !env.MODEL_KEY) throw new Error(`MODEL=${kind} needs MODEL_NAME and MODEL_KEY`);
  const base = new URL(env.MODEL_URL || url);
  // A key must not leave the machine in the clear.
  if (base.protocol !== "https:" && !["127.0.0.1", "localhost", "[::1]"].includes(base.hostname)) throw new Error("MODEL_URL: https, except on this machine");
  const prices = (env.MODEL_PRICES || "0,0").split(",").map(Number);
  if (prices.length !== 2 || !prices.every((n) => n >= 0 && n < 1e6)) throw new Error("MODEL_PRICES: dollars for a million tokens of the prompt and of the answer, such as 3,15");
  return make({ prices: { prompt: prices[0], completion: prices[1] }, url: base.href.replace(/\/+$/, ""), key: env.MODEL_KEY, model: env.MODEL_NAME });
}
