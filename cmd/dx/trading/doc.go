// Package trading has the commands of dx that act for an account or read a venue: order,
// cancel, call, markets, book, balance, positions, orders, fills, rounds, pnl, ledger, watch and
// evidence. Each command is an exported type, whose fields are its arguments and flags and whose Run
// sends the requests.
//
//	flags → cli.ClientFlags.Client → package client → venue → a table, a line or JSON
//
// Invariants:
//
//  1. An order by --series carries the generation of the round that it is for, so it cannot
//     reach a later round of the same market slot.
//  2. A number is converted exactly: prices from cents, money from dollars.
//  3. A list is a table, and JSON with --json. The result of an order or a cancel is a sentence on a
//     terminal, and JSON elsewhere.
//  4. Evidence recomputes a settlement without the venue's code.
//
// The package never retries a request by itself; package client does.
package trading
