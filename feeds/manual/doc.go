// Package manual computes index ticks from prices that operators post by hand
// (docs/rules/prices-sources.md#prices-by-hand).
//
//	POST /admin/oracle/ticks ──▶ Oracle.Post ──▶ core.PostIndex{Manual} ──▶ submit
//
// The caller submits the ticks of one second in the order in which Post returned them; the
// last one sequenced wins. A manual tick replaces the tick of its second, and other
// sources continue in the next second.
//
// The package never posts or repeats a tick by itself. In manual mode a feed without
// posts falls silent, and its markets pause.
package manual
