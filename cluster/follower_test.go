package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/logbuffer"
	"duplex/internal/race"
)

// source is a node whose archive the test writes.
type source struct {
	testing.TB
	dir     string
	archive *journal.File
	status  Status
	age     atomic.Int64
	knows   atomic.Uint64 // number of a group that it knows of and may lack
	port    *followPort
	address string
}

var _ node = (*source)(nil)

func (s *source) Status() Status {
	out := s.status
	out.Clock, out.First, out.ArchiveNumber, out.Number = s.now(), s.archive.First(), s.archive.Head(), s.archive.Head()
	return out
}

func (s *source) archiveLog() *journal.File { return s.archive }
func (s *source) snapshotDir() string       { return filepath.Join(s.dir, journal.SnapshotDir) }
func (s *source) now() int64                { return time.Now().UnixNano() }
func (s *source) head() (uint64, time.Duration) {
	return max(s.archive.Head(), s.knows.Load()), time.Duration(s.age.Load())
}

const testCaps = "caps"

var venueA, venueB = ID{1}, ID{2}

// newSource starts a source of venueA, whose archive begins after base.
func newSource(t testing.TB, base journal.Position) *source {
	t.Helper()
	s := &source{TB: t, dir: t.TempDir(), status: Status{
		ClusterID: venueA, Node: 1, Name: "a", Voters: []uint32{1, 2, 3}, MasterKey: fingerprint(masterKey, venueA),
		Settings: map[string]string{settingCaps: testCaps, "environment": "dev"}, Report: Report{MemberURL: "http://member.example"},
	}}
	var err error
	if s.archive, err = journal.Open(s.dir, journal.Options{Archive: true, Start: base, Base: base}); err != nil {
		t.Fatal(err)
	}
	s.listen()
	t.Cleanup(func() {
		s.stop()
		s.archive.Close()
	})
	return s
}

func (s *source) listen() {
	address := s.address
	if address == "" {
		address = newHost() + ":7001"
	}
	p, l, err := newFollowPort(s.Context(), s, address, &Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.Fatal(err)
	}
	s.port, s.address = p, address
	go p.serve(l)
}

func (s *source) stop() { s.port.server.Close() }

// write appends n groups with a body.
func (s *source) write(n int, body string) {
	s.Helper()
	for range n {
		if err := s.archive.Append(s.archive.Last().Next(journal.Group{Node: 1, Proposal: s.archive.Head() + 1, Body: []byte(body)})); err != nil {
			s.Fatal(err)
		}
	}
}

// copyOf starts a source with the same groups.
func (s *source) copyOf() *source {
	s.Helper()
	out := newSource(s.TB, journal.Position{})
	for g, err := range s.archive.From(s.Context(), 1) {
		if err == nil {
			err = out.archive.Append(g)
		}
		if err != nil {
			s.Fatal(err)
		}
		if g.Number == s.archive.Head() {
			break
		}
	}
	return out
}

// copied returns the folder of a follower that has copied the source, and has stopped.
func (s *source) copied() (dir string) {
	s.Helper()
	dir = s.TempDir()
	f := openFollower(s, dir, s.address)
	f.has(s, s)
	f.close()
	return dir
}

// trimmed starts a source whose archive begins after what this one has, with a snapshot of that.
func (s *source) trimmed() *source {
	s.Helper()
	at := s.archive.Last()
	out := newSource(s.TB, at)
	writeSnapshot(s.TB, out.snapshotDir(), at.Number, at)
	return out
}

// follower is a follower with its log.
type follower struct {
	*Follower
	l   *FollowerLog
	log *logbuffer.Buffer
}

func options(dir string, from ...string) (FollowerOptions, *logbuffer.Buffer) {
	log := &logbuffer.Buffer{}
	return FollowerOptions{firstContact: time.Minute, Dir: dir, Name: "f", From: from, Caps: testCaps, MasterKeys: [][]byte{masterKey}, Log: slog.New(slog.NewTextHandler(log, nil))}, log
}

func openFollower(t testing.TB, dir string, from ...string) *follower {
	t.Helper()
	o, log := options(dir, from...)
	return openFollowerWith(t, o, log)
}

func openFollowerWith(t testing.TB, o FollowerOptions, log *logbuffer.Buffer) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	f, err := OpenFollower(ctx, o)
	if err != nil {
		t.Fatalf("%v; log:\n%s", err, log)
	}
	start, err := newestSnapshot(f.snapshotDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.OpenLog(journal.Options{Start: start})
	if err != nil {
		t.Fatal(errors.Join(err, f.Close()))
	}
	out := &follower{f, l, log}
	t.Cleanup(out.close)
	return out
}

func (f *follower) close() {
	f.l.Close()
	f.Follower.Close()
}

// await waits until a condition holds.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happens: %s", what)
		}
	}
}

// has waits until the follower has exactly what a source has.
func (f *follower) has(t testing.TB, s *source) {
	t.Helper()
	await(t, fmt.Sprintf("the follower has group %d; log:\n%s", s.archive.Head(), f.log), func() bool { return f.l.Last() == s.archive.Last() })
}

// knows reports whether the follower knows the venue as of less than a second ago.
func (f *follower) knows() bool {
	_, age, never := f.Lag()
	return !never && age < time.Second
}

// TestFollowerCopies checks that a follower gets the old groups and the new ones, also of another
// follower, and begins again from its own archive.
func TestFollowerCopies(t *testing.T) {
	t.Parallel()
	s, dir := newSource(t, journal.Position{}), t.TempDir()
	s.write(50, "x")
	f := openFollower(t, dir, s.address)
	f.has(t, s)
	s.write(50, "y")
	f.has(t, s)
	await(t, "a beat", f.knows)
	m := f.Members()
	if lag, _, _ := f.Lag(); lag != 0 || m.Head != 100 || fmt.Sprint(m.Voters) != "[1 2 3]" || time.Since(m.Contact) > time.Minute {
		t.Errorf("lag %d, members %+v", lag, m)
	}
	if f.MemberURL() != "http://member.example" || f.Settings()["environment"] != "dev" {
		t.Errorf("%q %v", f.MemberURL(), f.Settings())
	}
	if err := f.l.Propose(t.Context(), journal.Group{}); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("a proposal: %v", err)
	}
	await(t, "there is one stream, and none was cut", func() bool { return s.port.stats() == FollowStats{Streams: 1} }) // one that was silent for long was replaced

	o, log := options(t.TempDir(), "")
	f.close()
	o2, log2 := options(dir, s.address)
	o2.Listen = newHost() + ":7001"
	f = openFollowerWith(t, o2, log2)
	await(t, "it knows a member, which the next one learns from it", func() bool { return f.MemberURL() != "" })
	o.From = []string{o2.Listen}
	second := openFollowerWith(t, o, log)
	s.write(10, "z")
	f.has(t, s)
	second.has(t, s)
	await(t, "a beat of a beat", second.knows)
	if second.MemberURL() != "http://member.example" {
		t.Errorf("a follower of a follower knows the member %q", second.MemberURL())
	}
	if status := f.Status(); status.Role != roleFollows || status.Node != FollowerNode || status.ClusterID != venueA {
		t.Errorf("%+v", status)
	}
}

// TestFollowerBeginsWithoutOthers checks that a follower that has followed before starts when no
// source is there, and knows nothing about the present.
func TestFollowerBeginsWithoutOthers(t *testing.T) {
	t.Parallel()
	s := newSource(t, journal.Position{})
	s.write(10, "x")
	dir := s.copied()
	s.stop()
	f := openFollower(t, dir, s.address)
	if _, _, never := f.Lag(); !never || f.l.Head() != 10 || !f.Members().Contact.IsZero() {
		t.Errorf("it has %d groups and contact %v", f.l.Head(), f.Members().Contact)
	}
	s.listen()
	s.write(1, "x")
	f.has(t, s)
	await(t, "a beat", f.knows)
}

// proxy passes the connections to an address on until it is stalled.
type proxy struct {
	address string
	stalled atomic.Bool
	delay   atomic.Int64 // of what is passed on, in ns
	mu      sync.Mutex
	conns   []net.Conn
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	p := &proxy{address: newHost() + ":7001"}
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			go p.pass(in, out)
			go p.pass(out, in)
		}
	}()
	return p
}

func (p *proxy) pass(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			to.Close()
			return
		}
		if p.stalled.Load() {
			continue // swallowed
		}
		time.Sleep(time.Duration(p.delay.Load()))
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// TestFollowerTriesTheNext checks that a follower leaves a source whose connection breaks, that is
// silent, or that does not know the present, and goes on with another. With DX_LONG it also serves reads
// all the while: the fastest of three changes counts, because a machine that is held up delays one.
func TestFollowerTriesTheNext(t *testing.T) {
	if race.Enabled {
		t.Skip("it judges by time, and the race detector makes everything ten times as long")
	}
	t.Parallel()
	for name, harm := range map[string]func(*source, *proxy){
		"broken": func(s *source, p *proxy) { s.stop(); p.cut() },
		"silent": func(_ *source, p *proxy) { p.stalled.Store(true) },
		"stale":  func(s *source, _ *proxy) { s.age.Store(int64(time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := changeOfSource(t, harm)
			if os.Getenv("DX_LONG") == "" {
				return
			}
			left = max(left, changeOfSource(t, harm), changeOfSource(t, harm))
			t.Logf("the follower had %v left", left)
			if left < 0 {
				t.Error("it served no reads for a while")
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		f, _, b, _ := followed(t, func(o *FollowerOptions) { o.noBeat = time.Hour }) // a machine that is held up is no cause
		b.write(5, "y")
		time.Sleep(3 * beatEvery)
		if begun := f.attempts.Load(); begun != 1 || f.l.Head() != 20 {
			t.Errorf("%d streams, %d groups", begun, f.l.Head())
		}
	})
}

// followed returns a follower of two sources that hold the same, the first of them behind a proxy.
func followed(t *testing.T, change ...func(*FollowerOptions)) (f *follower, a, b *source, p *proxy) {
	a = newSource(t, journal.Position{})
	a.write(20, "x")
	b, p = a.copyOf(), newProxy(t, a.address)
	o, log := options(t.TempDir(), p.address, b.address)
	for _, c := range change {
		c(&o)
	}
	f = openFollowerWith(t, o, log)
	f.has(t, a)
	await(t, "a beat", f.knows)
	return f, a, b, p
}

// changeOfSource harms a follower's source and returns for how long the follower could still serve reads
// when it followed another.
func changeOfSource(t *testing.T, harm func(*source, *proxy)) time.Duration {
	f, a, b, p := followed(t)
	harm(a, p)
	b.write(5, "y")
	f.has(t, b)
	_, age, _ := f.Lag()
	await(t, "a beat", f.knows)
	return f.opt.StaleAfter - age
}

// TestFollowerRejectsAnotherChain checks that a follower takes nothing from a source whose groups do
// not continue its own, neither groups nor beats, and does not lose what it has.
func TestFollowerRejectsAnotherChain(t *testing.T) {
	t.Parallel()
	for name, groups := range map[string]struct{ same, other int }{
		"a different last group":       {19, 30},
		"the last group changed alone": {19, 1},
		"shorter":                      {5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newSource(t, journal.Position{}), newSource(t, journal.Position{})
			a.write(20, "x")
			b.write(groups.same, "x")
			b.write(groups.other, "other")
			o, log := options(t.TempDir(), a.address, b.address)
			o.noBeat = time.Hour // it does not leave a before it has its groups
			f := openFollowerWith(t, o, log)
			f.has(t, a)
			a.stop()
			await(t, "the other source is tried", func() bool {
				rejected := f.rejected.Load()
				return rejected > 0 || name == "shorter" && bytes.Contains([]byte(f.log.String()), []byte("the archive ends at group 5"))
			})
			time.Sleep(4 * beatEvery)
			if _, age, never := f.Lag(); f.l.Last() != a.archive.Last() || never || age < 3*beatEvery {
				t.Errorf("the follower has group %d and a beat %v old", f.l.Head(), age)
			}
			a.listen()
			a.write(1, "x")
			f.has(t, a)
		})
	}
}

// TestFollowerOfAnotherVenue checks what a follower refuses at its start.
func TestFollowerOfAnotherVenue(t *testing.T) {
	t.Parallel()
	s := newSource(t, journal.Position{})
	s.write(3, "x")
	dir := s.copied()
	for name, test := range map[string]struct {
		change func(*FollowerOptions)
		status func(*Status)
		option string
	}{
		"another master key":  {change: func(o *FollowerOptions) { o.MasterKeys = [][]byte{bytes.Repeat([]byte{1}, 32)} }},
		"a new master key":    {change: func(o *FollowerOptions) { o.MasterKeys = append([][]byte{bytes.Repeat([]byte{1}, 32)}, masterKey) }, option: "fits"},
		"other caps":          {change: func(o *FollowerOptions) { o.Caps = "other" }},
		"another cluster":     {status: func(s *Status) { s.ClusterID, s.MasterKey = venueB, fingerprint(masterKey, venueB) }},
		"no source":           {change: func(o *FollowerOptions) { o.From = nil }, option: "from"},
		"not an address":      {change: func(o *FollowerOptions) { o.From = []string{"here"} }, option: "from"},
		"no certificate":      {change: func(o *FollowerOptions) { o.From = []string{"10.0.0.1:7001"} }, option: "cluster-cert"},
		"a public own port":   {change: func(o *FollowerOptions) { o.Listen = ":7001" }, option: "cluster-cert"},
		"half a certificate":  {change: func(o *FollowerOptions) { o.Cert = "f.crt" }, option: "cluster-cert"},
		"no master key":       {change: func(o *FollowerOptions) { o.MasterKeys = nil }, option: "master-key"},
		"a folder of its own": {option: "fits"},
	} {
		was := s.status
		if test.status != nil {
			test.status(&s.status)
		}
		o, _ := options(dir, s.address)
		if test.change != nil {
			test.change(&o)
		}
		f, err := OpenFollower(t.Context(), o)
		setting, option := (*SettingError)(nil), (*OptionError)(nil)
		switch {
		case test.option == "fits":
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			f.Close()
		case test.option != "" && (!errors.As(err, &option) || option.Option != test.option), test.option == "" && !errors.As(err, &setting):
			t.Errorf("%s: %v", name, err)
		}
		s.status = was
	}
	next := bytes.Repeat([]byte{1}, 32)
	later := s.copyOf()
	later.status.MasterKey = fingerprint(next, venueA)
	o, log := options(dir, s.address, later.address)
	o.MasterKeys = [][]byte{next, masterKey}
	f := openFollowerWith(t, o, log)
	s.stop() // the cluster replaces its master key while the follower runs
	await(t, "the follower stores the new one", func() bool {
		id, err := readIdentity(dir)
		return err == nil && id.MasterKey == later.status.MasterKey
	})
	f.close()
	o.MasterKeys = o.MasterKeys[:1] // the old one is not needed
	openFollowerWith(t, o, log).close()
	member := t.TempDir()
	if err := (&identity{Format: configFormat, Name: "a", Node: 1}).write(member); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"of a member": member, "of a single machine": filepath.Dir(s.singleMachine())} {
		o, _ := options(dir, s.address)
		option := (*OptionError)(nil)
		if _, err := OpenFollower(t.Context(), o); !errors.As(err, &option) || option.Option != "data" {
			t.Errorf("the data %s: %v", what, err)
		}
	}
}

// singleMachine writes the journal of a single machine and returns its folder.
func (s *source) singleMachine() string {
	dir := filepath.Join(s.TempDir(), "journal")
	l, err := journal.Open(dir, journal.Options{})
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		s.Fatal(err)
	}
	return dir
}

// TestMarkWithoutALog checks that a follower begins again after a crash between the removal of its log and of the
// log's mark.
func TestMarkWithoutALog(t *testing.T) {
	t.Parallel()
	s := newSource(t, journal.Position{})
	s.write(30, "x")
	dir := s.copied()
	if err := os.RemoveAll(filepath.Join(dir, "journal", "log")); err != nil {
		t.Fatal(err)
	}
	openFollower(t, dir, s.address).has(t, s)
}

// TestFollowerBeginsAgain checks that a follower that was away for longer than the archives last gets
// a new snapshot.
func TestFollowerBeginsAgain(t *testing.T) {
	t.Parallel()
	s := newSource(t, journal.Position{})
	s.write(30, "x")
	dir, other := s.copied(), s.copied()
	s.write(70, "x")
	later := s.trimmed()
	later.write(5, "y")
	f := openFollower(t, other, later.address, s.address)
	f.has(t, s)
	if f.l.First() != 1 {
		t.Errorf("it begins again with group %d, although a source continues what it has", f.l.First())
	}
	f = openFollower(t, dir, later.address)
	f.has(t, later)
	if f.l.First() != 101 {
		t.Errorf("its archive begins with group %d", f.l.First())
	}
}

// TestFollowerThatNobodyContinues checks that a follower ends when what it lacks is in no archive any more,
// so that its next start begins again.
func TestFollowerThatNobodyContinues(t *testing.T) {
	t.Parallel()
	s, dir := newSource(t, journal.Position{}), t.TempDir()
	s.write(30, "x")
	early := s.copyOf()
	s.write(70, "x")
	later := s.trimmed()
	f := openFollower(t, dir, early.address, later.address)
	f.has(t, early)
	early.stop()
	await(t, "it ends", func() bool { return errors.Is(f.l.Failed(), errNotContinued) })
	f.close()
	f = openFollower(t, dir, early.address, later.address)
	f.has(t, later)
	if f.l.First() != 101 {
		t.Errorf("its archive begins with group %d", f.l.First())
	}
}

// TestFollowerLimit checks that a node feeds no more followers than it may.
func TestFollowerLimit(t *testing.T) {
	t.Parallel()
	s := newSource(t, journal.Position{})
	s.port.followers = 1
	s.write(5, "x")
	first := openFollower(t, t.TempDir(), s.address)
	first.has(t, s)
	second := openFollower(t, t.TempDir(), s.address)
	await(t, "one is refused", func() bool {
		for _, f := range []*follower{first, second} {
			if strings.Contains(f.log.String(), "this node has 1 followers") {
				return true
			}
		}
		return false // the first one may lose its place on a machine that is held up
	})
	if strings.Contains(first.log.String(), "this node has 1 followers") {
		first, second = second, first
	}
	first.close()
	second.has(t, s)
}

// TestSlowFollowerIsCut checks that a reader that stalls, and one that had everything and falls too
// far behind, are cut, while one that catches up is not.
func TestSlowFollowerIsCut(t *testing.T) {
	s := newSource(t, journal.Position{})
	s.port.timeout = time.Minute
	client := (&Options{Log: slog.New(slog.DiscardHandler)}).peerClient()
	big := string(bytes.Repeat([]byte{'x'}, BodyMax-1))
	s.write(80, big) // more than followBacklog
	body, err := client.fetch(t.Context(), s.address, "/v1/log?from=1")
	if err != nil {
		t.Fatal(err)
	}
	live := errors.New("live")
	last := journal.Position{}
	if err := readLog(body, last, func(g journal.Group) error { last = g.After(); time.Sleep(5 * time.Millisecond); return nil }, func(b beat) error {
		if last.Number == b.head {
			return live
		}
		return nil
	}); err != live {
		t.Fatal(err)
	}
	if got := s.port.stats(); got.Cut != 0 {
		t.Errorf("a reader that catches up was cut")
	}
	body.Close()

	s.port.timeout = 2 * time.Second // also for the head of the stream
	if body, err = client.fetch(t.Context(), s.address, fmt.Sprintf("/v1/log?from=%d", s.archive.Head()+1)); err != nil {
		t.Fatal(err)
	}
	s.write(80, big)
	await(t, "the stalled reader is cut", func() bool { return s.port.stats().Cut == 1 })
	if _, err := io.Copy(io.Discard, body); err == nil {
		t.Error("its stream ends without an error")
	}
	body.Close()

	s.port.timeout = time.Minute
	if body, err = client.fetch(t.Context(), s.address, fmt.Sprintf("/v1/log?from=%d", s.archive.Head()+1)); err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	wasLive, written := make(chan struct{}), make(chan struct{})
	var once sync.Once
	ended := make(chan error, 1)
	var begun atomic.Bool
	go func() {
		ended <- readFrames(body, func(journal.Group) error {
			<-written // however slow the disk is, all is ahead of the reader
			time.Sleep(50 * time.Millisecond)
			return nil
		}, func(beat) error {
			if begun.Swap(true) { // the second beat comes after a look at the backlog
				once.Do(func() { close(wasLive) })
			}
			return nil
		})
	}()
	<-wasLive
	s.write(160, big)
	close(written)
	if err := <-ended; err == nil {
		t.Error("the slow reader is not cut")
	}
	await(t, "the slow reader is counted", func() bool { return s.port.stats().Cut == 2 })
}

// TestLateBeat checks that a beat counts from when it was sent, however late it is read, and less what
// the source itself does not know.
func TestLateBeat(t *testing.T) {
	f := &Follower{began: time.Now().Add(-time.Minute)}
	f.contact.Store(math.MinInt64)
	s := &stream{f: f, verified: true, watchdog: time.NewTimer(time.Hour)}
	clock := time.Now().UnixNano() + int64(time.Hour) // the clocks need not agree
	s.asked.Store(&asked{clock, time.Now().Add(-20 * time.Second)})
	age := func() time.Duration { _, age := f.head(); return age.Round(time.Second) }
	for _, test := range []struct {
		clock time.Duration // of the beat, after the question
		age   time.Duration
		want  time.Duration
	}{
		{5 * time.Second, 0, 15 * time.Second}, {2 * time.Second, 0, 15 * time.Second}, {12 * time.Second, 3 * time.Second, 11 * time.Second},
		{19 * time.Second, math.MaxInt64, 11 * time.Second}, {20 * time.Second, 0, 0}, {time.Minute, 0, 0},
	} {
		if err := s.beat(beat{1, clock + int64(test.clock), test.age}); err != nil {
			t.Fatal(err)
		}
		if got := age(); got != test.want {
			t.Errorf("a beat %v after the question with age %v: known as of %v ago, want %v", test.clock, test.age, got, test.want)
		}
	}
	s.verified = false
	f.contact.Store(math.MinInt64)
	if err := s.beat(beat{1, clock + int64(20*time.Second), 0}); err != nil || f.contact.Load() != math.MinInt64 {
		t.Error("a beat of a source that was not verified counts")
	}
}
