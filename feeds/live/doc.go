// Package live speaks with the venues that real prices come from: for each its
// address, what to send, and what its messages mean (contract oracle, Wire
// formats). The life of a connection is package line's.
//
//	BTC   coinbase kraken bitstamp gemini     on unless said otherwise
//	      binance                             in USDT; when asked for
//	gold  pyth (with a key) or binance-futures
//	WTI   pyth (with a key and an id) or binance-futures
//
// A price is the middle of best bid and ask where a message has both, else the
// last one traded. Its decimal text becomes an integer without ever being a float.
// A reader is lenient about what it does not need and strict about what it does:
// a value it cannot vouch for is a drop with a reason.
package live
