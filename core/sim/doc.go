// Package sim runs the venue through what may go wrong, again and again, from seeds.
//
// The engine and the log are the real ones, in the virtual time of a synctest bubble;
// the log writes real files in a directory of memory. Around them a seed decides
// everything: callers that give up, come twice or overtake each other, operators,
// feeds that fall silent, a clock that is set back and forth, a slow disk, a full one,
// and at some step of the log a fault: power is cut, and of what was written and not
// synced some sectors arrive, or a part, or nothing; the process is killed; a sync
// fails. Then the venue starts on what is left.
//
//	work      what is sent                          disk, image   the faults, and what they leave
//	model     what must come of it, written apart   agree         holding one against the other
//	gate      lets the sequencer go on              trace         all that happened, hashed
//	lanes     where callers come through the door: lanes/sim has them
//
// After each command its outcome must be the model's. After each crash all that was
// answered is there, and of the rest each group wholly or not at all; nothing that was
// refused is; a replay of the log comes to the same hash; all money adds up, and every
// balance, position, book and round is the model's.
//
//	go test ./core/sim                                   a few seeds, some thousand commands
//	go test ./core/sim -run Seeds -seeds 1000            over 10,000 crashes
//	go test ./core/sim -run ModelAgrees -commands 10000000
//	go test ./core/sim -run Seeds -seed 17               one run, told line by line
package sim
