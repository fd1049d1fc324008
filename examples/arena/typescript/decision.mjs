// @ts-check
// What a model sees, what it may answer, and the check of its answer. An answer of a model is
// untrusted input: nothing of it reaches the venue before validate has accepted it.

/**
 * What a model decides about. Prices are in pips: 10000 pips are one dollar, which a contract of
 * the winning outcome pays.
 * @typedef {{
 *   round: string, seconds_to_close: number,
 *   index: number, strike: number, volatility_ppb: number,
 *   yes: { bid: number, ask: number }, no: { bid: number, ask: number },
 *   held: { yes: number, no: number }, cash: number, equity: number, max_qty: number,
 * }} View index and strike in dollars; volatility_ppb is the standard deviation of the index in a
 *   second, in parts per billion; a price of 0 means that there is none; cash and equity in pips
 */

/**
 * @typedef {{
 *   action: "buy_yes" | "buy_no" | "hold", max_price: number, qty: number, p_yes: number,
 * }} Decision p_yes is the probability of YES in basis points, which is submitted as a forecast;
 *   max_price and qty are 0 for hold
 */

/** @typedef {{ model: string, prompt_tokens: number, completion_tokens: number, cost: string }} Usage cost in dollars */

/**
 * Decides about a view. Rejects with BadAnswer if the answer is unusable, and with Unavailable if
 * there is none. used, unless there is none, gets what each answer took.
 * @typedef {{ decide(view: View, signal: AbortSignal): Promise<Decision>, used?: Usage[] }} Model
 */

/** The answer of a model is unusable. */
export class BadAnswer extends Error {}

const ACTIONS = ["buy_yes", "buy_no", "hold"];

/** The tool that a model calls to decide. */
export const TOOL = {
  name: "decide",
  description: "Decide what to do in this round. Call it exactly once.",
  /** @param {number} maxQty */
  schema: (maxQty) => ({
    type: "object",
    properties: {
      p_yes: { type: "integer", minimum: 0, maximum: 10_000, description: "your probability of YES, in basis points" },
      action: { type: "string", enum: maxQty > 0 ? ACTIONS : ["hold"], description: "what to buy at the best offer, or hold" },
      max_price: { type: "integer", minimum: 1, maximum: 9_999, description: "highest price per contract in pips; leave it out for hold" },
      qty: { type: "integer", minimum: 1, maximum: Math.max(maxQty, 1), description: "contracts; leave it out for hold" },
    },
    required: ["p_yes", "action"],
    additionalProperties: false,
  }),
};

/** What a model is told, whatever it is. */
export const SYSTEM = `You trade on an exchange for yes/no markets on short price rounds. YES wins if the mean of the index over the last seconds of the round is strictly above the strike. A contract of the winning outcome pays 10000 pips, the other pays 0. A buy pays the ask and a fee of 2.5 % of price × (1 − price), both per contract. The index is a random walk without drift; volatility_ppb is its standard deviation in one second, in parts per billion. First find the probability of YES, then compare it with the asks. Buy only with an edge of at least 300 pips. Answer with one call of the tool ${TOOL.name}.`;

/** @param {View} view */
export const prompt = (view) => `The round now, as JSON:\n${JSON.stringify(view)}`;

/**
 * Checks the arguments of the tool and returns them as a decision. Throws BadAnswer.
 * @param {unknown} given @param {View} view @returns {Decision}
 */
export function validate(given, view) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new BadAnswer("not an object");
  const answer = /** @type {Record<string, unknown>} */ (given);
  for (const name of Object.keys(answer)) {
    if (!["p_yes", "action", "max_price", "qty"].includes(name)) throw new BadAnswer(`unknown argument ${name.slice(0, 40)}`);
  }
  /** @param {string} name @param {number} low @param {number} high */
  const integer = (name, low, high) => {
    const n = Object.hasOwn(answer, name) ? answer[name] : undefined;
    if (typeof n !== "number" || !Number.isInteger(n) || n < low || n > high) throw new BadAnswer(`${name} is not an integer from ${low} to ${high}`);
    return n;
  };
  const p_yes = integer("p_yes", 0, 10_000);
  const { action } = answer;
  if (action === "hold") return { action, p_yes, max_price: 0, qty: 0 };
  if (action !== "buy_yes" && action !== "buy_no") throw new BadAnswer(`action is none of ${ACTIONS.join(", ")}`);
  return { action, p_yes, max_price: integer("max_price", 1, 9_999), qty: integer("qty", 1, view.max_qty) };
}
