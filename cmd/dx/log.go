package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lmittmann/tint"

	"duplex/cmd/dx/cli"
	"duplex/internal/address"
	"duplex/internal/logwriter"
)

// logLimit is how many bytes of a venue's log wait for its reader, and logFlush how long its end waits
// until they are written.
const (
	logLimit = 1 << 20
	logFlush = time.Second
)

// logOutput is what a command writes its log to.
type logOutput struct {
	*slog.Logger
	out, errs io.Writer
	close     func()
	venueLog
}

// venueLog is the log of a venue, which does not wait for its reader.
type venueLog struct {
	dropped func() uint64 // lines that were dropped; nil: none ever is
	flush   func()        // waits until the log is written, for a process that is about to end
}

// openLog returns the output of a command. That of a venue never waits for the readers of its standard
// output and standard error, and goes on without them (docs/rules/operation.md#log).
func openLog(venue bool, out, errs io.Writer, level slog.Level) logOutput {
	l := logOutput{out: out, errs: errs, close: func() {}, venueLog: venueLog{flush: func() {}}}
	if venue {
		// Without a handler, a write to a pipe that nobody reads any more ends the process.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		text := func(n uint64) string { return noticeOf(errs, n) }
		o, e := logwriter.New(out, logLimit, text), logwriter.New(errs, logLimit, text)
		if !cli.IsTerminal(out) { // commands draw on a terminal
			l.out = o
		}
		l.errs = e
		l.dropped = func() uint64 { return o.Dropped() + e.Dropped() }
		l.flush = func() { e.Flush(logFlush) }
		l.close = func() {
			o.Close(logFlush)
			e.Close(logFlush)
		}
	}
	l.Logger = slog.New(handler(l.errs, cli.IsTerminal(errs), level))
	return l
}

// handler writes colored text with times in UTC to a terminal, and JSON elsewhere.
func handler(w io.Writer, terminal bool, level slog.Level) slog.Handler {
	if terminal {
		return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05Z", ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
				a.Value = slog.TimeValue(a.Value.Time().UTC())
			}
			return withoutSecrets(groups, a)
		}})
	}
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutSecrets})
}

// withoutSecrets takes the secrets out of the URLs in a line of the log.
func withoutSecrets(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(address.Redact(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			if text := address.RedactError(err); text != err.Error() {
				a.Value = slog.StringValue(text)
			}
		}
	}
	return a
}

// noticeOf is the line that says how many lines of a log were dropped.
func noticeOf(errs io.Writer, n uint64) string {
	var line bytes.Buffer
	slog.New(handler(&line, cli.IsTerminal(errs), slog.LevelInfo)).LogAttrs(context.Background(), slog.LevelWarn, "log lines were dropped, because they could not be written", slog.Uint64("dropped", n))
	return line.String()
}
