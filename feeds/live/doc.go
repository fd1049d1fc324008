// Package live has the codecs of the venues that real prices come from: the address, the
// subscription and the parser of messages of each (docs/rules/prices-sources.md#sources).
// Package adapter runs the connections.
//
//	Config ──▶ Sources ──▶ adapter.New(codec) for each venue and feed
//
//	BTC   coinbase kraken bitstamp gemini     by default
//	      binance                             in USDT, if configured
//	gold  pyth (with a key) or binance-futures
//	WTI   pyth (with a key and an id) or binance-futures
//
// Invariants:
//
//  1. A price is the middle of best bid and ask if a message has both, else the last
//     trade. Its decimal text becomes an integer without a float.
//  2. A parser ignores members that it does not need. It drops a value, with a reason, if
//     a member that it needs is missing or malformed.
//  3. A message that is not the expected JSON is dropped; it never panics.
package live
