// Package manual is the operator's desk: prices posted by hand become index
// ticks at once. It posts nothing by itself and repeats nothing, so in manual
// mode a feed that nobody posts to falls silent, and its markets pause.
//
//	POST /admin/oracle/ticks ──▶ Desk.Post ──▶ core.PostIndex{Manual} ──▶ submit
//
// Ticks of one second are to be submitted in the order Post gave them: the last
// sequenced stands.
//
// The same desk serves beside other sources: its tick replaces theirs in its
// second, and theirs go on in the next.
package manual
