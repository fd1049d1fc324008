package server

import (
	"context"
	"log/slog"
	"os"

	"duplex/core/journal"
)

// lifecycle returns the log of the venue's life: starts, snapshots, feeds and stops
// (docs/operations/README.md, Logs). A dev venue is watched by a person, an arena is one of many: they log them at the level debug.
func (v *Venue) lifecycle() *slog.Logger {
	if v.options.Environment == "live" {
		return v.options.Log
	}
	return slog.New(quietHandler{v.options.Log.Handler()})
}

// quietHandler logs records of the level info at the level debug.
type quietHandler struct{ slog.Handler }

func (h quietHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.Handler.Enabled(ctx, quieter(l))
}

func (h quietHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = quieter(r.Level)
	return h.Handler.Handle(ctx, r)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}

func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}

func quieter(l slog.Level) slog.Level {
	if l == slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}

// LogOpen logs that requests are served. Commands that serve for others call it.
func (v *Venue) LogOpen() {
	msg := "venue open"
	if v.follower != nil {
		msg = "follower open"
	}
	args := []any{"api", v.PublicURL(), "portal", v.PublicPortalURL(), "admin", v.AdminURL(), "data", v.options.Data}
	if v.follower == nil {
		for _, s := range v.options.auditedSettings() {
			args = append(args, s.Name, s.Value)
		}
	}
	v.lifecycle().Info(msg, args...)
}

// logStart logs what starts, before anything can fail.
func (v *Venue) logStart() {
	v.lifecycle().Info("venue starts", "version", v.options.Version, "journal_format", journal.Format, "pid", os.Getpid(), "environment", v.options.Environment, "data", v.options.Data)
}
