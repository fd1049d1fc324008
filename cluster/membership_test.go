package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"duplex/core/engine"
	"duplex/core/journal"
)

// TestReplaceADeadVoter checks that a dead voter of three is replaced in the order of the rules: the new member is added
// while the dead one is still a member, then the dead one is removed. A new member that was away meanwhile starts with
// the list of the members as it is now, although what it has itself is older, and so much older that the leader sends
// it a snapshot.
func TestReplaceADeadVoter(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	l := r.open(0)
	defer l.Close()
	defer r.open(1).Close() // no voter lags
	c := r.clusters[0]
	r.stop(2)
	host := newHost()
	d := Address{Name: "d", Peer: host + ":7000"}
	await(t, "add beside a dead voter", func() bool { return c.add(t.Context(), d) == nil }) // refused while b does not answer
	if s := c.Overview(); len(s.Members) != 4 || s.Members[3].Node != "d" || s.Members[3].Role != roleLearner || s.Members[2].State != StateDown {
		t.Errorf("after add: %+v, want c down and d a learner", s)
	}
	for refusal, try := range map[string]func() error{
		"one change at a time":           func() error { return c.add(t.Context(), Address{Name: "e", Peer: newHost() + ":7000"}) },
		"only 1 of 2 voters would be up": func() error { return c.Remove(t.Context(), "b", true) },
		"d is not up":                    func() error { return c.Promote(t.Context(), "d") },
	} {
		await(t, "a refusal with: "+refusal, func() bool { // another one while b does not answer
			err := try()
			return errors.Is(err, engine.ErrRefused) && strings.Contains(err.Error(), refusal)
		})
	}
	o := r.options[0]
	o.Dir, o.Name, o.Join, o.FollowListen = filepath.Join(r.dir, "d"), "d", true, host+":7001"
	o.Members = append(slices.Clone(o.Members), d)
	r.options, r.clusters = append(r.options, o), append(r.clusters, nil)
	r.start(3)
	r.stop(3)
	await(t, "remove of the dead voter", func() bool { return c.Remove(t.Context(), "c", true) == nil })
	await(t, "three members are left", func() bool { return len(c.Overview().Members) == 3 })
	const caughtUpByEntries = 6000 // etcd sends a snapshot to a member that lacks more than 5,000
	body := make([]byte, 8<<10)    // of some size, so that it takes a moment
	for first := uint64(1); first <= caughtUpByEntries; first += 100 {
		var proposers sync.WaitGroup
		for p := range uint64(100) { // so few that each is confirmed before it would be put again
			proposers.Go(func() { propose(t, l, journal.Group{Node: 1, Proposal: first + p, Body: body}) })
		}
		proposers.Wait()
	}
	r.options[3].Members = slices.DeleteFunc(slices.Clone(o.Members), func(a Address) bool { return a.Name == "c" })
	n, err := Open(t.Context(), r.options[3])
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	await(t, "remove of what was added", func() bool { return c.Remove(t.Context(), "d", true) == nil })
}

// TestAddedMemberJoins checks that a member which has lost its disk returns with the options with which it founded
// the cluster, without --join: it is refused until it was removed, waits until it was added again under the same
// name and address, gets its vote by itself, and starts again like any other.
func TestAddedMemberJoins(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	l := r.open(0)
	defer l.Close()
	defer r.open(1).Close()
	fill(t, l, 1, 1, 10) // a member without a group gets no vote
	c := r.clusters[0]
	r.stop(2)
	r.remove("")
	r.refuse("without its folder", refusal{"as before", nil, dataLost})
	r.remove("") // the refused start made it
	await(t, "remove of the member without a disk", func() bool { return c.Remove(t.Context(), "c", true) == nil })
	started := make(chan struct{})
	go func() {
		defer close(started)
		r.start(2)
	}()
	await(t, "the member waits", func() bool {
		resp, err := http.Get("http://" + r.options[2].Members[2].Peer + formingPath)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	r.noEtcd("before it was added")
	await(t, "add under the same name and address", func() bool { return c.add(t.Context(), r.options[2].Members[2]) == nil })
	<-started
	if r.Failed() {
		t.FailNow()
	}
	third := r.open(2)
	await(t, "its vote", func() bool { c.lookNow(); return len(c.view.Load().voters) == 3 })
	if s := c.Overview(); s.Members[2].Node != "c" || c.config.Load().find("c").Node != 4 {
		t.Errorf("after add: %+v, want c as node 4", s)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
	r.stop(2)
	if r.start(2); r.clusters[2] == nil {
		t.Error("it does not start again")
	}
}

// TestFirstPolls checks that a member asks the others in short intervals until it has compared the clocks,
// so that it does not begin with 2 s of clock_off.
func TestFirstPolls(t *testing.T) {
	c := &Cluster{}
	if d := c.untilPoll(); d > pollEvery/10 {
		t.Errorf("the next poll is after %v", d)
	}
	c.clock.Store(&engine.ClockOffset{})
	if d := c.untilPoll(); d != pollEvery {
		t.Errorf("after the first comparison the next poll is after %v", d)
	}
}

// TestJoinSurvivesAnOldList checks that a member which joins is not stopped by a list of the members from
// before it was added, which a member that has just started may give to etcd.
func TestJoinSurvivesAnOldList(t *testing.T) {
	t.Parallel()
	r := prepareTrial(t, 1)
	var asked atomic.Int32
	own, peer := r.options[0].Members[0], newHost()+":7000"
	l, err := net.Listen("tcp", peer)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	known := fmt.Sprintf(`{"id":1,"peerURLs":["http://%s"],"name":"z","clientURLs":["unix://z"]}`, peer)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Etcd-Cluster-ID", "1")
		switch asked.Add(1) {
		case 1, 3: // by the member itself
			fmt.Fprintf(w, `[%s,{"id":2,"peerURLs":["http://%s"],"isLearner":true}]`, known, own.Peer)
		case 2: // by etcd
			fmt.Fprintf(w, `[%s]`, known)
		default:
			cancel()
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go server.Serve(l)
	defer server.Close()
	o := r.options[0]
	o.Join, o.Members = true, []Address{own, {Name: "z", Peer: peer}}
	c, err := Open(ctx, o)
	if err == nil {
		c.Close()
	}
	if n := asked.Load(); n < 3 {
		t.Errorf("it has asked %d times: %v", n, err)
	}
}
