// Package bridge gets an MCP host to the venue: no host signs requests, so this does
// (contract mcp, Getting a host to it).
//
//	Bridge   a host that starts programs: messages by lines on a pair of pipes
//	Proxy    a host that speaks HTTP only: a loopback address that signs
//	Install  puts the bridge into the file where a host keeps its servers
//	Doctor   tells what stands between a host and the venue
//
// A message goes this way over the bridge:
//
//	parse     what the bridge must know of it; bad JSON is answered here
//	narrow    a tool that is not allowed here is refused here
//	headers   of the protocol, made from the body
//	Open      signed, the clock set right once (package client)
//	deliver   one answer, or an event stream message by message
//
// The bytes that go out are the bytes that came in. A read whose answer is lost is
// sent once more. A write never is: its caller is told that the outcome is unknown,
// and which tool finds it out.
package bridge
