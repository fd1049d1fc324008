// Package timeouts lets a test give the program more time than it promises: a verdict about orders must
// not depend on whether a machine that does much else was held up for two seconds.
package timeouts

import "time"

var factor time.Duration = 1

// Extend makes each limit of Of n times as long. Only the start of a test program calls it, before
// anything else runs.
func Extend(n int) { factor = time.Duration(n) }

// Of returns a limit of the program: d, unless a test has extended it.
func Of(d time.Duration) time.Duration { return d * factor }
