// Package session knows when a feed trades. BTC always does; gold and WTI keep
// the hours of their futures, New York time: Sunday 18:00 to Friday 17:00, with
// a break from 17:00 to 18:00 Monday to Thursday, less the holidays and early
// closes of holidays.txt (contract oracle, Sessions).
//
//	Calendar.At(feed, t)  ──▶ open or shut, and until when
//	Keeper.Run            ──▶ Submit(SetSession) now and at every change
//
// A trade date D is a weekday: it opens at 18:00 of the day before and closes at
// 17:00, or early, or is left out altogether. So a holiday that is left out also
// takes the evening before.
//
// A year that the file does not cover is an error, never a guess, and a feed
// without known hours is shut.
package session
