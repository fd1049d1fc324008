package bridge

import (
	"context"
	"log/slog"
	"strings"
)

// Masked is log without the secrets: wherever one would stand, stars do.
func Masked(log *slog.Logger, secrets ...string) *slog.Logger {
	var pairs []string
	for _, s := range secrets {
		if s != "" {
			pairs = append(pairs, s, "***")
		}
	}
	return slog.New(mask{log.Handler(), strings.NewReplacer(pairs...)})
}

type mask struct {
	slog.Handler
	stars *strings.Replacer
}

func (m mask) Handle(ctx context.Context, r slog.Record) error {
	to := slog.NewRecord(r.Time, r.Level, m.stars.Replace(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		to.AddAttrs(m.attr(a))
		return true
	})
	return m.Handler.Handle(ctx, to)
}

// attr writes a value out: one that is text only when it is logged could hold a
// secret too.
func (m mask) attr(a slog.Attr) slog.Attr {
	return slog.String(a.Key, m.stars.Replace(a.Value.Resolve().String()))
}

func (m mask) WithAttrs(as []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(as))
	for i, a := range as {
		masked[i] = m.attr(a)
	}
	return mask{m.Handler.WithAttrs(masked), m.stars}
}

func (m mask) WithGroup(name string) slog.Handler { return mask{m.Handler.WithGroup(name), m.stars} }
