package cluster

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core/journal"
	"duplex/internal/atomicfile"
	"duplex/internal/logbuffer"
)

// certifiedTrial is a trial whose members have certificates, which they look at all the time.
type certifiedTrial struct {
	*trial
	members   []CertHost
	followers []CertHost
	logs      [3]*logbuffer.Buffer
	journals  [3]*Log // nil: not open
}

func newCertifiedTrial(t *testing.T) *certifiedTrial {
	t.Helper()
	r := &certifiedTrial{trial: prepareTrial(t, 3)}
	for i := range r.options {
		o := &r.options[i]
		host, _, _ := strings.Cut(o.FollowListen, ":")
		r.members = append(r.members, CertHost{o.Name, host})
		r.logs[i] = &logbuffer.Buffer{}
		o.Log = slog.New(slog.NewTextHandler(r.logs[i], nil))
		o.Cert, o.Key, o.CA = r.file(o.Name+".crt"), r.file(o.Name+".key"), r.file("ca.crt")
		o.lookEvery = 10 * time.Millisecond
	}
	r.followers = []CertHost{{"f", newHost()}}
	r.write("certs", CertOptions{Valid: time.Hour})
	r.startAll()
	t.Cleanup(func() {
		for i := range r.journals {
			r.closeJournal(i)
		}
	})
	return r
}

// file is a file of the folder that the nodes read.
func (r *certifiedTrial) file(name string) string { return filepath.Join(r.dir, "certs", name) }

// write makes or renews the certificates in a folder.
func (r *certifiedTrial) write(dir string, o CertOptions) time.Time {
	r.Helper()
	o.Now = time.Now()
	end, err := WriteCerts(filepath.Join(r.dir, dir), r.members, r.followers, o)
	if err != nil {
		r.Fatal(err)
	}
	return end.Truncate(time.Second) // as certificates have it
}

// use is true if all members use certificates that end then.
func (r *certifiedTrial) use(end time.Time) bool {
	return !slices.ContainsFunc(r.clusters, func(c *Cluster) bool {
		node, _ := c.CertificateEnds()
		return node != end.UnixNano()
	})
}

// deliver proposes a group on each member, and waits until every member has all of them.
func (r *certifiedTrial) deliver(proposal uint64) {
	r.Helper()
	for i := range r.journals {
		if r.journals[i] == nil {
			r.journals[i] = r.open(i)
		}
	}
	for i, l := range r.journals {
		propose(r, l, journal.Group{Node: uint32(i + 1), Proposal: proposal, Body: fmt.Appendf(nil, "%d %d", i, proposal)})
	}
	for _, l := range r.journals {
		read(r, l, 1, 3*proposal)
	}
}

func (r *certifiedTrial) closeJournal(i int) {
	if l := r.journals[i]; l != nil {
		r.journals[i] = nil
		l.Close()
	}
}

// stop stops a member.
func (r *certifiedTrial) stop(i int) {
	r.Helper()
	r.closeJournal(i)
	r.trial.stop(i)
}

// answer waits until every member gets an answer from the follow port of every other one.
func (r *certifiedTrial) answer() {
	r.Helper()
	r.hear(func(h heard) bool { return !h.missed })
}

// TestMemberRejoinsAfterTheCertificatesEnded lets the certificates of all nodes end while they run, and
// replaces them then. A member that restarts with the new ones is known to the others at once, although
// their processes began with the old ones, and so is a follower.
func TestMemberRejoinsAfterTheCertificatesEnded(t *testing.T) {
	t.Parallel()
	r := newCertifiedTrial(t)
	r.deliver(1)
	var end time.Time
	for end.Before(time.Now()) || !r.use(end) { // again, if a machine that is held up looks after the end
		end = r.write("certs", CertOptions{Valid: 3 * time.Second, Renew: true})
		for !r.use(end) && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(time.Until(end.Add(time.Millisecond)))
	r.stop(0)
	if _, err := Open(t.Context(), r.options[0]); err == nil || !strings.Contains(err.Error(), "ended on") {
		t.Fatalf("a start with a certificate that has ended: %v", err)
	}
	end = r.write("certs", CertOptions{Valid: time.Hour, Renew: true})
	r.start(0)
	r.answer()
	await(t, "the others use the new ones", func() bool { return r.use(end) })
	r.deliver(2)

	o, log := options(filepath.Join(r.dir, "f"), r.options[1].FollowListen)
	o.Caps, o.Cert, o.Key, o.CA = "", r.file("f.crt"), r.file("f.key"), r.file("ca.crt")
	f := openFollowerWith(t, o, log)
	await(t, "the follower has every group", func() bool { return f.l.Head() == 6 })
	if node, ca := f.CertificateEnds(); node != end.UnixNano() || f.Status().CertEnd != node || f.Status().CAEnd != ca || ca <= node {
		t.Errorf("the follower says that it ends at %d, its authority at %d; want %d", node, ca, end.UnixNano())
	}
	s := r.clusters[1].Overview()
	for _, m := range s.Members {
		if int64(m.CertEndTs) != end.UnixNano() {
			t.Errorf("the certificate of %s ends at %d, want %d", m.Node, m.CertEndTs, end.UnixNano())
		}
	}
	if _, ca := r.clusters[1].CertificateEnds(); int64(s.CAEndTs) != ca {
		t.Errorf("the authority ends at %d, want %d", s.CAEndTs, ca)
	}
}

// TestNewAuthority replaces the authority of a running cluster, one step after the other. A certificate of
// the new one is not used before the peer port knows it, which takes a restart of each member with both.
func TestNewAuthority(t *testing.T) {
	t.Parallel()
	r := newCertifiedTrial(t)
	r.deliver(1)
	old, _ := r.clusters[0].CertificateEnds()
	end := r.write("new", CertOptions{Valid: 2 * time.Hour})
	copyFile := func(from, to string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(r.dir, from))
		if err == nil {
			err = atomicfile.Write(r.file(to), b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	copyPairs := func(from string) {
		t.Helper()
		for _, m := range r.members {
			copyFile(filepath.Join(from, m.Name+".crt"), m.Name+".crt")
			copyFile(filepath.Join(from, m.Name+".key"), m.Name+".key")
		}
	}
	said := func(what string) {
		t.Helper()
		for i, log := range r.logs {
			await(t, fmt.Sprintf("member %d says %q", i, what), func() bool { return strings.Contains(log.String(), what) })
		}
		if !r.use(time.Unix(0, old)) {
			t.Errorf("%s: the old certificates are no longer used", what)
		}
	}
	restartEach := func() {
		t.Helper()
		for i := range r.clusters {
			r.stop(i)
			r.start(i)
			r.answer()
		}
	}
	for _, m := range r.members { // to be put back below
		copyFile(filepath.Join("certs", m.Name+".crt"), filepath.Join("..", "old", m.Name+".crt"))
		copyFile(filepath.Join("certs", m.Name+".key"), filepath.Join("..", "old", m.Name+".key"))
	}
	copyPairs("new")
	said("is not valid with the authorities")
	if err := writeBundle(r.file("ca.crt"), filepath.Join(r.dir, "certs"), filepath.Join(r.dir, "new")); err != nil {
		t.Fatal(err)
	}
	said("its authority is new")
	copyPairs("old")
	said("after the next start of this member")
	restartEach()
	copyPairs("new")
	await(t, "every member uses a certificate of the new authority", func() bool { return r.use(end) })
	r.deliver(2)
	copyFile(filepath.Join("new", "ca.crt"), "ca.crt")
	r.stop(2)
	r.start(2)
	r.answer()
	r.deliver(3)
}
