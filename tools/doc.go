// Package tools is what one may do at the venue: each operation a typed value,
// declared once. A lane offers them in its own words and adds none of its own.
//
//	Op[In, Out]   Facts: name, route, scope, bucket, hints
//	              Do: what it does for a caller, on the engine
//
// Admission, decoding and the waiting for a seq are lanes/gate's; what a caller
// sees of an error is schemas'. An operation that would have to know its lane is
// two operations.
package tools
