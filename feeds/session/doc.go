// Package session has the trading hours of each feed
// (docs/rules/prices-sources.md#sessions). BTC trades always. Gold and WTI keep the hours of
// their futures in New York time: Sunday 18:00 to Friday 17:00, with a break from 17:00 to
// 18:00 Monday to Thursday, less the holidays and early closes of holidays.txt and of the
// operator's file.
//
//	Calendar.At(feed, t)  ──▶ open or closed, and until when
//	Calendar.End()        ──▶ when the last known session closes
//	Scheduler.Run         ──▶ Submit(SetSession) now and at every change
//
// A trade date is a weekday. It opens at 18:00 of the day before and closes at 17:00, or
// early, or is closed altogether. A closed trade date therefore also closes the evening
// before it.
//
// The package never guesses: a year that no file covers is an error, and a feed without
// known hours is closed and opens no rounds. The other feeds and the Scheduler continue.
package session
