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

// badCredentials are credentials that are invalid for one reason, each with its own key.
type badCredentials struct {
	name string
	each []gate.Credentials
}

const target = "/v1/portfolio/balance"

// unauthorizedRequests returns credentials that a caller must not be able to distinguish:
// a valid, an unknown, a revoked and an undecryptable key, each with the signature of
// another secret; a revoked key with its own signature; and an expired timestamp.
func unauthorizedRequests(h *lanetest.Server, each int) []badCredentials {
	wrong := make([]byte, schemas.SecretLen)
	now := strconv.FormatInt(h.Now()/core.NsPerMs, 10)
	late := strconv.FormatInt(h.Now()/core.NsPerMs-6000, 10)
	some := func(name string, one func() (id string, secret []byte, ts string)) badCredentials {
		s := badCredentials{name: name}
		for range each {
			id, secret, ts := one()
			s.each = append(s.each, gate.Credentials{Key: id, Timestamp: ts, Signature: schemas.Sign(secret, ts, "GET", target, nil)})
		}
		return s
	}
	revoked := func() lanetest.Key {
		k := h.NewKey(1, core.ScopeRead)
		h.Submit(&core.RevokeKey{User: 1, Key: k.ID})
		return k
	}
	return []badCredentials{
		some("a wrong signature", func() (string, []byte, string) { return h.NewKey(1, core.ScopeRead).ID, wrong, now }),
		some("an unknown key", func() (string, []byte, string) { id, _, _ := h.Gate.Vault.NewKey(); return id, wrong, now }),
		some("a revoked key", func() (string, []byte, string) { return revoked().ID, wrong, now }),
		some("a revoked key, with a valid signature", func() (string, []byte, string) { k := revoked(); return k.ID, k.Secret, now }),
		some("a key under a lost master key", func() (string, []byte, string) {
			k := h.NewKey(1, core.ScopeRead)
			h.Submit(&core.ResealKey{Key: k.ID, Sealed: make([]byte, 60)})
			return k.ID, wrong, now
		}),
		some("an expired timestamp", func() (string, []byte, string) { k := h.NewKey(1, core.ScopeRead); return k.ID, k.Secret, late }),
	}
}

// TestUnauthorizedDoesTheSameWork checks that every rejection computes one HMAC with a
// 32-byte secret over the same message, and takes the secret from the cache.
func TestUnauthorizedDoesTheSameWork(t *testing.T) {
	h := lanetest.New(t)
	h.FreezeClock()
	checks := 0
	var secretAt *byte // address of the last secret
	h.Gate.OnVerify(func(secret, body []byte) {
		if checks++; len(secret) != schemas.SecretLen || len(body) != 100 {
			t.Errorf("%d bytes over %d", len(secret), len(body))
		}
		secretAt = &secret[0]
	})
	call := &gate.Call{Body: make([]byte, 100)}
	for _, s := range unauthorizedRequests(h, 1) {
		verify := func() {
			if h.Gate.VerifySignature(s.each[0], "GET", target, call) == nil {
				t.Errorf("%s is accepted", s.name)
			}
		}
		verify() // decrypts and caches the secret
		first := secretAt
		checks = 0
		for range 100 {
			if verify(); secretAt != first {
				t.Fatalf("%s: the secret is decrypted again", s.name)
			}
		}
		if checks != 100 {
			t.Errorf("%s: %d HMACs for 100 requests", s.name, checks)
		}
	}
}

// TestUnauthorizedTakesTheSameTime checks that the reasons do not differ in time: of two interleaved
// samples, the probability that one is longer is one half (Mann–Whitney). It fails only if the same reason
// is the longer one in every batch. A machine at work makes one batch in six exceed the bound, in either
// direction, so the chance of a false alarm of the 30 pairs is 30·(1/12)^8, below one in ten million.
func TestUnauthorizedTakesTheSameTime(t *testing.T) {
	if os.Getenv("DX_LONG") == "" {
		t.Skip("a statistic of the clock: DX_LONG=1 go test ./lanes/gate -run SameTime -v")
	}
	const batches, samples, bound = 8, 10_000, 0.1 // the bound is above differences of the memory layout, which are nanoseconds
	h := lanetest.New(t)
	h.FreezeClock()
	all := unauthorizedRequests(h, 50)
	edge := h.Gate.Edge(http.NotFoundHandler())
	suspects := map[[2]int]bool{} // pairs of which the first was the longer one in every batch
	for i := range all {
		for j := range all {
			if i != j {
				suspects[[2]int{i, j}] = true
			}
		}
	}
	for batch := 0; batch < batches && len(suspects) > 0; batch++ {
		times := make([][]time.Duration, len(all))
		for n := range samples {
			if n%1000 == 0 {
				h.Gate.ForgetSignatureFailures() // else the limit of failures answers, which this test is not about
			}
			for _, i := range rand.Perm(len(all)) {
				cred := all[i].each[n%len(all[i].each)]
				r, w := httptest.NewRequest("GET", target, nil), httptest.NewRecorder()
				r.Header.Set(schemas.HeaderKey, cred.Key)
				r.Header.Set(schemas.HeaderTimestamp, cred.Timestamp)
				r.Header.Set(schemas.HeaderSignature, cred.Signature)
				start := time.Now()
				edge.ServeHTTP(w, r)
				times[i] = append(times[i], time.Since(start))
				if w.Code != 401 {
					t.Fatal(all[i].name, w.Code)
				}
			}
		}
		for i := range times {
			slices.Sort(times[i])
		}
		for pair := range suspects {
			a, b := times[pair[0]], times[pair[1]]
			p := longer(a, b)
			if p <= 0.5+bound {
				delete(suspects, pair)
				continue
			}
			t.Logf("batch %d: %s longer than %s: %.3f (medians %v, %v)", batch+1, all[pair[0]].name, all[pair[1]].name, p, a[samples/2], b[samples/2])
		}
	}
	for pair := range suspects {
		t.Errorf("%s takes longer than %s in each of %d batches", all[pair[0]].name, all[pair[1]].name, batches)
	}
}

// longer returns the probability that a sample of a is longer than one of b; a tie counts
// half. Both must be sorted.
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
