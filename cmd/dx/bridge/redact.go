package bridge

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// RedactSecrets returns a logger that replaces the secrets by stars, and a function that adds one.
func RedactSecrets(log *slog.Logger, secrets ...string) (masked *slog.Logger, add func(secret string)) {
	r := &redactor{}
	for _, s := range secrets {
		r.add(s)
	}
	return slog.New(redactHandler{log.Handler(), r}), r.add
}

type redactor struct {
	mu    sync.Mutex
	pairs []string
}

func (r *redactor) add(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if secret != "" && !slices.Contains(r.pairs, secret) {
		r.pairs = append(r.pairs, secret, "***")
	}
}

// Replace replaces the secrets in a text.
func (r *redactor) Replace(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.NewReplacer(r.pairs...).Replace(text)
}

type redactHandler struct {
	slog.Handler
	replacer *redactor
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
