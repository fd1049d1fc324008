// Package bridge connects an MCP host to the venue. Hosts do not sign requests, so the
// bridge signs them (docs/rules/agents.md#bridge).
//
//	Bridge   for a host that starts programs: one message a line over two pipes
//	Proxy    for a host that uses HTTP only: a loopback listener that signs
//	Plan     adds the bridge to the config file of a host
//	Doctor   checks the connection between a host and the venue
//
// A message over the Bridge:
//
//	parse      find id, method and tool; respond to bad JSON
//	filter     reject a tool that the bridge does not offer
//	headers    make the protocol's headers from the body
//	nodes      choose the node, and the next one if it fails
//	Open       sign and send; correct the clock once (package client)
//	deliver    pass on one response, or an event stream message by message
//
// Invariants:
//
//  1. The bytes sent are the bytes received.
//  2. A read whose response is lost is sent once more, or to the next node. A write is sent again only if a
//     node did not execute it, or to another node if its client_order_id prevents a second execution.
//  3. Every request gets a response. That of a write without a response from the venue
//     says that the outcome is unknown and which tool shows it, or that the write was not
//     executed.
//
// The package never widens the scopes of the key and never logs a secret.
package bridge
