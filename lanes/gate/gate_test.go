package gate

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/tools"
)

// stopped is a clock that a test sets.
type stopped struct{ at atomic.Int64 }

func (s *stopped) now() int64           { return s.at.Load() }
func (s *stopped) step(d time.Duration) { s.at.Add(int64(d)) }

func bucketsAt(c *stopped, volume *atomic.Int64) *buckets {
	terms := tools.DefaultTerms(c.now)
	return &buckets{terms: &terms, volume: func(core.UserID) core.Qty { return core.Qty(volume.Load()) }}
}

func retryAfter(t *testing.T, err error) int64 {
	t.Helper()
	ms, ok := tools.ErrorOf(err).RetryAfterMs()
	if !ok {
		t.Fatalf("no retry_after_ms in %v", err)
	}
	return ms
}

// Read 100/s with a burst of 200; write 20, its burst as much; cancel twice the
// write rate; each on its own, per key (spec 8).
func TestBuckets(t *testing.T) {
	c, volume := &stopped{}, &atomic.Int64{}
	c.at.Store(1_800_000_000 * core.NsPerSec)
	b := bucketsAt(c, volume)
	k, other := &core.Key{ID: "k", User: 1}, &core.Key{ID: "o", User: 1}
	for which, burst := range map[tools.Bucket]int{tools.Read: 200, tools.Write: 20, tools.Cancel: 40} {
		if err := b.take(k, which, burst); err != nil {
			t.Errorf("%v: %d at once: %v", which, burst, err)
		}
		err := b.take(k, which, 1)
		if err == nil {
			t.Errorf("%v: %d and one more", which, burst)
			continue
		}
		if ms, want := retryAfter(t, err), map[tools.Bucket]int64{tools.Read: 10, tools.Write: 50, tools.Cancel: 25}[which]; ms != want {
			t.Errorf("%v: wait %d ms, not %d", which, ms, want)
		}
	}
	if err := b.take(other, tools.Write, 20); err != nil {
		t.Errorf("another key of the account: %v", err)
	}
	c.step(50 * time.Millisecond)
	if err := b.take(k, tools.Write, 1); err != nil {
		t.Errorf("a token came back: %v", err)
	}
	if err := b.take(k, tools.Write, 1); err == nil {
		t.Error("two came back")
	}
	// What does not fit draws nothing.
	c.step(time.Second)
	if b.take(k, tools.Write, 21) == nil || b.take(k, tools.Write, 20) != nil {
		t.Error("a refusal drew tokens")
	}
}

// Who waits as long as a refusal says gets in: to send a batch again costs its first
// token again as well.
func TestABatchGetsInAfterItsWait(t *testing.T) {
	c, volume := &stopped{}, &atomic.Int64{}
	c.at.Store(1_800_000_000 * core.NsPerSec)
	b := bucketsAt(c, volume)
	k := &core.Key{ID: "k", User: 1}
	if err := b.take(k, tools.Write, 20); err != nil {
		t.Fatal(err)
	}
	var waits []int64
	for range 3 { // the first token of an empty bucket, then the whole batch
		err := b.take(k, tools.Write, 1)
		if err == nil {
			err = b.rest(k, tools.Write, 19)
		}
		if err == nil {
			break
		}
		ms := retryAfter(t, err)
		waits = append(waits, ms)
		c.step(time.Duration(ms) * time.Millisecond)
	}
	if len(waits) != 2 || waits[0] != 50 || waits[1] != 1000 {
		t.Errorf("waited %v ms", waits)
	}
}

// The write rate grows with the account's volume, while the key is in use, up to 400.
func TestWriteRateScales(t *testing.T) {
	c, volume := &stopped{}, &atomic.Int64{}
	c.at.Store(1_800_000_000 * core.NsPerSec)
	b := bucketsAt(c, volume)
	k := &core.Key{ID: "k", User: 1}
	if err := b.take(k, tools.Write, 1); err != nil {
		t.Fatal(err)
	}
	for shares, rate := range map[int64]int64{0: 20, 9_999: 20, 10_000: 21, 1_000_000: 120, 1 << 40: 400} {
		if got := b.terms.WriteRate(core.Qty(shares)); got != rate {
			t.Errorf("%d shares grant %d, not %d", shares, got, rate)
		}
	}
	volume.Store(1_000_000)
	c.step(5 * time.Second)
	if err := b.take(k, tools.Write, 1); err != nil { // the new grant is looked up here
		t.Fatal(err)
	}
	c.step(time.Second)
	if err := b.take(k, tools.Write, 120); err != nil {
		t.Errorf("a burst of 120: %v", err)
	}
	c.step(time.Second)
	if err := b.take(k, tools.Cancel, 240); err != nil {
		t.Errorf("and 240 cancels: %v", err)
	}
}

// However many exact repeats come at once, it happens once and all get its answer;
// later ones too, until the window is long over.
func TestOnce(t *testing.T) {
	o, did := &once{seen: map[string]*first{}}, atomic.Int64{}
	do := func() (int64, error) { return did.Add(1), errors.New("as it was") }
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if n, err := onlyOnce(o, "a", 0, do); n != 1 || err == nil {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	wg.Wait()
	if n, _ := onlyOnce(o, "b", 1, do); n != 2 {
		t.Errorf("another request: %d", n)
	}
	if n, _ := onlyOnce(o, "a", int64(10*time.Second), do); n != 1 {
		t.Errorf("a repeat at the end of the window: %d", n)
	}
	if n, _ := onlyOnce(o, "a", int64(time.Minute), do); n != 3 || len(o.seen) != 1 || len(o.queue) != 1 {
		t.Errorf("a minute later: %d, %d kept", n, len(o.seen))
	}
}

// What was surely not done is not remembered: an exact repeat of it is tried anew.
func TestOnceForgetsWhatWasNotDone(t *testing.T) {
	o := &once{seen: map[string]*first{}}
	for i, c := range []struct {
		err  error
		code string
	}{{engine.ErrShed, "shed"}, {tools.Refuse("funding_unavailable"), "funding_unavailable"}, {engine.ErrUnknown, "sequencing_timeout"}, {nil, "sequencing_timeout"}} {
		_, err := onlyOnce(o, "a", int64(i), func() (int, error) { return 0, c.err })
		if got := tools.ErrorOf(err).Code; got != c.code {
			t.Errorf("call %d: %s, want %s", i, got, c.code)
		}
	}
}

// A repeat of what fell over is told that it is not known what came of it.
func TestOnceFallsOver(t *testing.T) {
	o := &once{seen: map[string]*first{}}
	func() {
		defer func() { _ = recover() }()
		_, _ = onlyOnce(o, "a", 0, func() (int, error) { panic("over") })
	}()
	if _, err := onlyOnce(o, "a", 1, func() (int, error) { return 1, nil }); tools.ErrorOf(err).Code != "internal" {
		t.Errorf("%v", err)
	}
}

// A signature is spent for as long as it could be good, then forgotten; more than there
// is room for are refused, and none is forgotten for it.
func TestSpent(t *testing.T) {
	s := &spent{}
	at := int64(1_800_000_000) * core.NsPerSec
	for _, c := range []struct {
		after time.Duration
		of    string
		first bool
	}{
		{0, "a", true}, {0, "a", false}, {0, "b", true}, {9 * time.Second, "c", true}, {10 * time.Second, "a", false},
		{11 * time.Second, "c", false}, {19 * time.Second, "c", false}, {60 * time.Second, "a", true}, {60 * time.Second, "c", true},
	} {
		if first, err := s.take(c.of, at+int64(c.after)); err != nil || first != c.first {
			t.Errorf("%s after %v: %v, %v", c.of, c.after, first, err)
		}
	}
	for n := len(s.new); n < spentMax; n++ {
		s.new[mark{1, byte(n), byte(n >> 8), byte(n >> 16)}] = struct{}{}
	}
	at += int64(61 * time.Second)
	if _, err := s.take("d", at); tools.ErrorOf(err).Code != "shed" {
		t.Errorf("one more than there is room for: %v", err)
	}
	if first, err := s.take("a", at); first || err != nil {
		t.Errorf("one that is remembered: %v, %v", first, err)
	}
	if first, err := s.take("d", at+2*spentFor); !first || err != nil {
		t.Errorf("when there is room again: %v, %v", first, err)
	}
}

// A sealed secret opens under its own key's id and master key alone.
func TestVault(t *testing.T) {
	v, err := NewVault(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	id, secret, sealed := v.NewKey()
	k := &core.Key{ID: id, Sealed: sealed}
	if got, err := v.Open(k); err != nil || string(got) != string(secret) {
		t.Errorf("%x, %v", got, err)
	}
	if _, err := v.Open(&core.Key{ID: "dxk0", Sealed: sealed}); err == nil {
		t.Error("it opens as another key's")
	}
	other, err := NewVault(append(make([]byte, 31), 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(k); err == nil {
		t.Error("it opens under another master key")
	}
	if _, ok := v.secret(v.nobody("dxk")); ok {
		t.Error("no key has a secret")
	}
	for _, n := range []int{0, 5, len(sealed) - 1} {
		if _, err := v.Open(&core.Key{ID: id, Sealed: sealed[:n]}); err == nil {
			t.Errorf("%d bytes of it open", n)
		}
	}
	if _, err := NewVault(make([]byte, 31)); err == nil {
		t.Error("31 bytes make a master key")
	}
}
