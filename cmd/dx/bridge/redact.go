package bridge

import (
	"context"
	"log/slog"
	"strings"
)

// RedactSecrets returns a logger that replaces the secrets by stars.
func RedactSecrets(log *slog.Logger, secrets ...string) *slog.Logger {
	var pairs []string
	for _, s := range secrets {
		if s != "" {
			pairs = append(pairs, s, "***")
		}
	}
	return slog.New(redactHandler{log.Handler(), strings.NewReplacer(pairs...)})
}

type redactHandler struct {
	slog.Handler
	replacer *strings.Replacer
}

func (m redactHandler) Handle(ctx context.Context, r slog.Record) error {
	to := slog.NewRecord(r.Time, r.Level, m.replacer.Replace(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		to.AddAttrs(m.attr(a))
		return true
	})
	return m.Handler.Handle(ctx, to)
}

// attr converts a value to text before replacing, because values that are formatted later
// could contain a secret.
func (m redactHandler) attr(a slog.Attr) slog.Attr {
	return slog.String(a.Key, m.replacer.Replace(a.Value.Resolve().String()))
}

func (m redactHandler) WithAttrs(as []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(as))
	for i, a := range as {
		masked[i] = m.attr(a)
	}
	return redactHandler{m.Handler.WithAttrs(masked), m.replacer}
}

func (m redactHandler) WithGroup(name string) slog.Handler {
	return redactHandler{m.Handler.WithGroup(name), m.replacer}
}
