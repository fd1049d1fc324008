package gate_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// strangers are some who are not let in for one reason, each with a key of his own.
type strangers struct {
	name string
	each []gate.Credentials
}

const target = "/v1/portfolio/balance"

// refused are those that must not be told apart: the key there is, the key that was, the
// key that cannot be opened and the key that never was, each with a signature that another
// secret made; and the first two with a signature that is right.
func refused(h *lanetest.House, each int) []strangers {
	wrong := make([]byte, schemas.SecretLen)
	now := strconv.FormatInt(h.Now()/core.NsPerMs, 10)
	late := strconv.FormatInt(h.Now()/core.NsPerMs-6000, 10)
	some := func(name string, one func() (id string, secret []byte, ts string)) strangers {
		s := strangers{name: name}
		for range each {
			id, secret, ts := one()
			s.each = append(s.each, gate.Credentials{Key: id, Timestamp: ts, Signature: schemas.Sign(secret, ts, "GET", target, nil)})
		}
		return s
	}
	revoked := func() lanetest.Key {
		k := h.Key(1, core.ScopeRead)
		h.Do(&core.RevokeKey{User: 1, Key: k.ID})
		return k
	}
	return []strangers{
		some("a wrong signature", func() (string, []byte, string) { return h.Key(1, core.ScopeRead).ID, wrong, now }),
		some("an unknown key", func() (string, []byte, string) { id, _, _ := h.Gate.Vault.NewKey(); return id, wrong, now }),
		some("a revoked key", func() (string, []byte, string) { return revoked().ID, wrong, now }),
		some("a revoked key, rightly signed", func() (string, []byte, string) { k := revoked(); return k.ID, k.Secret, now }),
		some("a key under a lost master key", func() (string, []byte, string) {
			k := h.Key(1, core.ScopeRead)
			h.Do(&core.ResealKey{Key: k.ID, Sealed: make([]byte, 60)})
			return k.ID, wrong, now
		}),
		some("too late", func() (string, []byte, string) { k := h.Key(1, core.ScopeRead); return k.ID, k.Secret, late }),
	}
}

// Every way of not being let in does the same work: one HMAC under 32 bytes over the same
// message, with a secret that is remembered and not opened again.
func TestRefusalsDoTheSameWork(t *testing.T) {
	h := lanetest.New(t)
	h.Stop()
	checks := 0
	var with *byte // the secret lies there
	h.Gate.Verifying(func(secret, body []byte) {
		if checks++; len(secret) != schemas.SecretLen || len(body) != 100 {
			t.Errorf("%d bytes over %d", len(secret), len(body))
		}
		with = &secret[0]
	})
	call := &gate.Call{Body: make([]byte, 100)}
	for _, s := range refused(h, 1) {
		prove := func() {
			if h.Gate.Prove(s.each[0], "GET", target, call) == nil {
				t.Errorf("%s is let in", s.name)
			}
		}
		prove() // a secret is opened the first time
		first := with
		checks = 0
		for range 100 {
			if prove(); with != first {
				t.Fatalf("%s: the secret is opened again", s.name)
			}
		}
		if checks != 100 {
			t.Errorf("%s: %d HMACs in 100 refusals", s.name, checks)
		}
	}
}

// No two of them can be told apart by the time of the door: of samples taken in turns, the
// chance that one is longer than another's is a half (Mann–Whitney).
func TestRefusalsTakeTheSameTime(t *testing.T) {
	if os.Getenv("DX_LONG") == "" {
		t.Skip("a statistic of the clock, over 40,000 samples on a quiet machine: set DX_LONG=1")
	}
	const samples, bound = 40_000, 0.1 // nanoseconds of the memory in which a key lies are seen here
	h := lanetest.New(t)
	h.Stop()
	all := refused(h, 50)
	door := h.Gate.Edge(http.NotFoundHandler())
	took := make([][]time.Duration, len(all))
	for n := range samples {
		for _, i := range rand.Perm(len(all)) {
			cred := all[i].each[n%len(all[i].each)]
			r, w := httptest.NewRequest("GET", target, nil), httptest.NewRecorder()
			r.Header.Set(schemas.HeaderKey, cred.Key)
			r.Header.Set(schemas.HeaderTimestamp, cred.Timestamp)
			r.Header.Set(schemas.HeaderSignature, cred.Signature)
			begun := time.Now()
			door.ServeHTTP(w, r)
			took[i] = append(took[i], time.Since(begun))
			if w.Code != 401 {
				t.Fatal(all[i].name, w.Code)
			}
		}
	}
	for i := range all {
		slices.Sort(took[i])
		for j := range i {
			p := longer(took[i], took[j])
			t.Logf("%s longer than %s: %.3f (medians %v, %v)", all[i].name, all[j].name, p, took[i][samples/2], took[j][samples/2])
			if p < 0.5-bound || p > 0.5+bound {
				t.Errorf("%s can be told from %s: %.3f", all[i].name, all[j].name, p)
			}
		}
	}
}

// longer is the chance that a sample of a is longer than one of b, a tie being half of
// one. Both are sorted.
func longer(a, b []time.Duration) float64 {
	sum, below, upTo := 0, 0, 0
	for _, x := range a {
		for below < len(b) && b[below] < x {
			below++
		}
		for upTo < len(b) && b[upTo] <= x {
			upTo++
		}
		sum += below + upTo
	}
	return float64(sum) / 2 / float64(len(a)) / float64(len(b))
}
