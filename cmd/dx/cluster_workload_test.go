package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/view"
	"duplex/schemas"
)

// A workload is the load of a trial, and the record of what was acknowledged. Traders place and cancel
// orders over signed REST, and others deposit money and create accounts, each request on the next
// member. A request with an id of its own that gets no answer is sent again, with the same id, to
// another member until it is answered: then it was executed once. The creation of an account has no id,
// so it is sent once, and was executed at most once if it was not answered.
type workload struct {
	c       *clusterTrial
	user    uint32 // receives the deposits
	traders []*loadTrader
	cancel  context.CancelFunc
	stopped context.Context
	workers sync.WaitGroup
	market  atomic.Uint32 // in which the traders place orders
	initial uint64        // pips deposited before the load began

	halted     atomic.Bool  // nothing answers any more
	unresolved atomic.Int64 // deposits that were not answered when the load was halted

	mu       sync.Mutex
	members  []int // that receive requests
	deposits int
	accounts map[string]bool // names; whether the creation was acknowledged
	done     int             // requests answered
	again    int             // requests repeated
	last     time.Time
	longest  time.Duration // without an answer
	placed   []placement
}

// placement is an acknowledged order: when it was sent first, when it was answered, and its seq.
type placement struct {
	sent, answered time.Time
	seq            schemas.U64
}

// loadTrader places orders on one side, so that it never trades with itself.
type loadTrader struct {
	user    uint32
	key     clusterKey
	outcome string
	clients []*client.Client // by member

	mu      sync.Mutex
	orders  map[uint64]schemas.U64 // acknowledged client_order_ids with their order ids; 0: rejected, or only the id is known
	newest  []uint64               // acknowledged client_order_ids, in this order
	resting []schemas.U64
}

const (
	loadTraders  = 6
	loadFunds    = 1_000_000_000 // pips of each trader
	loadPause    = 4 * time.Millisecond
	loadResting  = 20              // most orders that a trader leaves resting
	requestLimit = 3 * time.Second // above the venue's own budget of 2 s
	resolveLimit = 2 * time.Minute // for a request and its repeats
	loadDeposit  = 10_000          // pips
	oneMore      = time.Second     // between two prices of a feed
)

// loadRates are arguments of members under load: writes have no limit of their rate.
var loadRates = []string{"--write-floor", "1000000"}

func (c *clusterTrial) newWorkload() *workload {
	ctx, cancel := context.WithCancel(context.Background())
	l := &workload{c: c, cancel: cancel, stopped: ctx, members: []int{0, 1, 2}, accounts: map[string]bool{}, last: time.Now()}
	c.Cleanup(l.halt) // if the test ends early
	return l
}

// deposit starts a workload of deposits to one account alone.
func (c *clusterTrial) deposit(user uint32, workers int) *workload {
	l := c.newWorkload()
	l.user = user
	for w := range workers {
		l.every(func(n int) { l.deposit(fmt.Sprintf("deposit-%d-%d", w, n), w+n) })
	}
	return l
}

// load starts a workload on these of the first three members, or on all of them.
func (c *clusterTrial) load(members ...int) *workload {
	c.Helper()
	l := c.newWorkload()
	if len(members) > 0 {
		l.use(members...)
	}
	l.user = c.createUser("depositor")
	for i := range loadTraders {
		t := &loadTrader{user: c.createUser(fmt.Sprint("trader-", i)), outcome: []string{"yes", "no"}[i%2], orders: map[uint64]schemas.U64{}}
		if status, err := c.admin(c.Context(), i%3, "POST", fmt.Sprintf("/admin/users/%d/deposits", t.user), map[string]string{"amount": fmt.Sprint(loadFunds), "deposit_id": fmt.Sprint("funds-", i)}, nil); err != nil || status != 201 {
			c.Fatal(status, err)
		}
		l.initial += loadFunds
		t.key = c.createKey(i%3, t.user)
		for i := range memberNames {
			t.clients = append(t.clients, c.client(i, t.key))
		}
		l.traders = append(l.traders, t)
	}
	l.workers.Go(l.postPrices)
	for w := range 2 {
		l.every(func(n int) { l.deposit(fmt.Sprintf("deposit-%d-%d", w, n), w+n) })
	}
	l.every(func(n int) { l.create(fmt.Sprint("account-", n), n) })
	for i, t := range l.traders {
		l.every(func(n int) { l.trade(t, uint64(n+1), i+n) })
	}
	return l
}

// every calls send with 0, 1, 2, … until the load ends.
func (l *workload) every(send func(n int)) {
	l.workers.Go(func() {
		for n := 0; l.stopped.Err() == nil; n++ {
			send(n)
			time.Sleep(loadPause) // a load, and not a measurement of how much is possible
		}
	})
}

// use sends the requests to these members from now on.
func (l *workload) use(members ...int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = members
}

// useOthers sends no more requests to a member of three. Requests that it has already wait for it.
func (l *workload) useOthers(than int) { l.use((than+1)%3, (than+2)%3) }

// member is the one that receives a request.
func (l *workload) member(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.members[n%len(l.members)]
}

// errRepeat is an answer after which a request is sent again.
var errRepeat = errors.New("not answered")

// resolve sends a request to one member after the other until it is answered. It returns false if the
// load was halted, or after failing the test: on an error other than errRepeat, or after resolveLimit.
func (l *workload) resolve(what string, at int, send func(ctx context.Context, member, attempt int) error) bool {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
		err := send(ctx, l.member(at+attempt), attempt)
		cancel()
		if err == nil {
			l.answer()
			return true
		}
		if l.halted.Load() {
			return false
		}
		if !errors.Is(err, errRepeat) || time.Since(began) > resolveLimit {
			l.c.Errorf("%s, attempt %d: %v", what, attempt, err)
			l.cancel()
			return false
		}
		l.mu.Lock()
		l.again++
		l.mu.Unlock()
		time.Sleep(5 * time.Millisecond) // a member that is down refuses at once
	}
}

func (l *workload) answer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
	l.longest = max(l.longest, time.Since(l.last))
	l.last = time.Now()
}

func (l *workload) deposit(id string, at int) {
	if l.resolve(id, at, func(ctx context.Context, member, _ int) error {
		status, err := l.c.admin(ctx, member, "POST", fmt.Sprintf("/admin/users/%d/deposits", l.user), map[string]string{"amount": fmt.Sprint(loadDeposit), "deposit_id": id}, nil)
		return answered(status, 201, err)
	}) {
		l.mu.Lock()
		l.deposits++
		l.mu.Unlock()
		return
	}
	l.unresolved.Add(1)
}

// answered is nil for the wanted status, errRepeat if the request is to be sent again, and else an
// error.
func answered(status, want int, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errRepeat, err)
	case status == want:
		return nil
	case status >= 500, status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %d", errRepeat, status)
	}
	return fmt.Errorf("status %d", status)
}

// create creates an account. Its name is noted before the request is sent.
func (l *workload) create(name string, at int) {
	l.mu.Lock()
	l.accounts[name] = false
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	status, err := l.c.admin(ctx, l.member(at), "POST", "/admin/users", map[string]string{"name": name}, nil)
	switch err := answered(status, 201, err); {
	case err == nil:
		l.mu.Lock()
		l.accounts[name] = true
		l.mu.Unlock()
		l.answer()
	case !errors.Is(err, errRepeat):
		l.c.Errorf("%s: %v", name, err)
	default:
		time.Sleep(20 * time.Millisecond) // a member that is down refuses at once
	}
}

// trade places an order, and cancels the oldest one if too many rest. Every fourth order is at a price
// at which those of the other side trade; the others rest at a cent.
func (l *workload) trade(t *loadTrader, id uint64, at int) {
	o := schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: schemas.Int(max(1, l.market.Load())), Side: "buy", Outcome: t.outcome, Tick: schemas.Ptr(schemas.Int(100)), Qty: 1}
	if id%4 == 0 {
		*o.Tick = 5000
	}
	var out schemas.Placed
	var rejected bool
	sent, began := false, time.Now() // an earlier attempt may have been executed
	if !l.resolve(fmt.Sprintf("order %d of %d", id, t.user), at, func(ctx context.Context, member, attempt int) (err error) {
		out, err = t.clients[member].PlaceOrder(ctx, o)
		code := codeOf(err)
		switch code {
		case "":
			return nil
		case "duplicate_client_order_id":
			if !sent {
				return errors.New("an id that was not sent before is a duplicate")
			}
			rejected = true // or its order is not known
			return nil
		case "market_not_trading", "market_paused", "unknown_market": // the core has judged it, and the id is used
			rejected = true
			return nil
		}
		sent = true
		return repeated(err)
	}) {
		return
	}
	if !rejected {
		l.mu.Lock()
		l.placed = append(l.placed, placement{began, time.Now(), out.Seq})
		l.mu.Unlock()
		if id%8 == 0 {
			l.read(t, out.Seq, at+1)
		}
	}
	t.mu.Lock()
	t.newest = append(t.newest, id)
	t.orders[id] = out.OrderID
	if !rejected && out.RestingQty > 0 {
		t.resting = append(t.resting, out.OrderID)
	}
	var old schemas.U64
	if len(t.resting) > loadResting {
		old, t.resting = t.resting[0], t.resting[1:]
	}
	t.mu.Unlock()
	if old != 0 {
		l.resolve(fmt.Sprint("cancel of ", old), at+1, func(ctx context.Context, member, _ int) error {
			_, err := t.clients[member].Cancel(ctx, old)
			if codeOf(err) == "unknown_order" { // its round has ended, it was filled, or this is a repeat
				return nil
			}
			return repeated(err)
		})
	}
}

// read reads the balance of a trader on a member, at least as of a seq.
func (l *workload) read(t *loadTrader, seq schemas.U64, at int) {
	var out schemas.Balance
	if l.resolve(fmt.Sprint("a read with min_seq ", seq), at, func(ctx context.Context, member, _ int) error {
		return repeated(t.clients[member].Do(ctx, "GET", "/v1/portfolio/balance", schemas.MinSeqOnly{MinSeqQuery: schemas.MinSeqQuery{MinSeq: seq}}, &out))
	}) && out.AsOfSeq < seq {
		l.c.Errorf("a read with min_seq %d is as of %d", seq, out.AsOfSeq)
	}
}

// checkOrder checks that an order that was answered on any member precedes every order that was sent
// afterwards to any member.
func (l *workload) checkOrder() {
	l.c.Helper()
	if err := outOfOrder(l.placed); err != nil {
		l.c.Error(err)
	}
}

func outOfOrder(placed []placement) error {
	answered := slices.SortedFunc(slices.Values(placed), func(a, b placement) int { return a.answered.Compare(b.answered) })
	sent := slices.SortedFunc(slices.Values(placed), func(a, b placement) int { return a.sent.Compare(b.sent) })
	var last placement // with the highest seq of those answered before
	for _, p := range sent {
		for len(answered) > 0 && answered[0].answered.Before(p.sent) {
			if answered[0].seq > last.seq {
				last = answered[0]
			}
			answered = answered[1:]
		}
		if p.seq <= last.seq {
			return fmt.Errorf("an order sent at %v has seq %d, and one answered before, at %v, has %d", p.sent, p.seq, last.answered, last.seq)
		}
	}
	return nil
}

// TestOutOfOrder checks that outOfOrder finds an order that overtook another one, and none that overlap.
func TestOutOfOrder(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	if err := outOfOrder([]placement{{at(1), at(5), 9}, {at(2), at(3), 4}, {at(4), at(8), 7}, {at(6), at(9), 10}}); err != nil {
		t.Error(err)
	}
	if outOfOrder([]placement{{at(1), at(5), 9}, {at(6), at(9), 8}}) == nil {
		t.Error("an order that overtook an answered one is not found")
	}
}

// repeated is errRepeat unless err is nil or an answer that no repetition changes.
func repeated(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		if again := answered(e.Status, 200, nil); !errors.Is(again, errRepeat) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errRepeat, err)
}

// postPrices posts a price of every feed each second, so that rounds open, and settle, and finds a
// market that trades. What fails comes again a second later.
func (l *workload) postPrices() {
	for n := 0; l.stopped.Err() == nil; n++ {
		ctx, cancel := context.WithTimeout(l.stopped, oneMore)
		for feed := range 3 {
			_, _ = l.c.admin(ctx, l.member(n), "POST", "/admin/oracle/ticks", map[string]any{"feed": feed, "source": "manual", "price": fmt.Sprint(6_500_000_000_000 + int64(n)*1_000_000)}, nil)
		}
		if list, err := l.traders[0].clients[l.member(n)].Markets(ctx, schemas.ListMarkets{Status: "trading"}); err == nil {
			var last schemas.Market
			for _, m := range list.Markets {
				if m.CloseTs > last.CloseTs {
					last = m
				}
			}
			l.market.Store(last.MarketID)
		}
		cancel()
		select {
		case <-l.stopped.Done():
		case <-time.After(oneMore):
		}
	}
}

// answered waits until n more requests are answered.
func (l *workload) answered(n int) {
	l.c.Helper()
	l.mu.Lock()
	target := l.done + n
	l.mu.Unlock()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline) && l.stopped.Err() == nil; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		enough := l.done >= target
		l.mu.Unlock()
		if enough {
			return
		}
	}
	l.c.Fatal("the cluster answers nothing")
}

// resetLongest returns the longest time without an answer since the last call.
func (l *workload) resetLongest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := max(l.longest, time.Since(l.last))
	l.longest, l.last = 0, time.Now()
	return d
}

// confirmed returns how many writes were acknowledged, and how many requests were sent again.
func (l *workload) confirmed() (writes, again int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes = l.deposits
	for _, acknowledged := range l.accounts {
		if acknowledged {
			writes++
		}
	}
	for _, t := range l.traders {
		t.mu.Lock()
		writes += len(t.newest)
		t.mu.Unlock()
	}
	return writes, l.again
}

// halt ends the load although its last requests are not answered.
func (l *workload) halt() {
	l.halted.Store(true)
	l.stop()
}

// stop ends the load once every request that has an id is answered.
func (l *workload) stop() {
	l.cancel()
	l.workers.Wait()
}

// finish ends the load, compares the members, stops them, and verifies their archives.
func (l *workload) finish() {
	l.c.Helper()
	l.stop()
	l.checkOrder()
	l.compare()
	l.c.stopAll()
	for i, m := range l.c.members {
		if !m.removed {
			l.verify(i)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	orders := 0
	for _, t := range l.traders {
		orders += len(t.newest)
	}
	created := 0
	for _, acknowledged := range l.accounts {
		if acknowledged {
			created++
		}
	}
	if !l.c.Failed() {
		l.c.Logf("acknowledged: %d orders, %d deposits, %d accounts; %d requests sent again; 0 lost, 0 twice, hashes equal, archives verified", orders, l.deposits, created, l.again)
	}
}

// compare checks that all members that run have the same state, and in it all that was acknowledged,
// once.
func (l *workload) compare() {
	l.c.Helper()
	states := map[string]string{}
	var sum uint64
	var running []int
	for i, m := range l.c.members {
		if !m.removed && m.cmd != nil {
			running = append(running, i)
		}
	}
	within(3*time.Minute, func() bool {
		clear(states)
		seqs := map[schemas.U64]bool{}
		for _, i := range running {
			var s schemas.AdminState
			if status, err := l.c.admin(l.c.Context(), i, "GET", "/admin/state", nil, &s); err != nil || status != 200 {
				continue
			}
			seqs[s.Seq] = true
			states[memberNames[i]] = s.StateHash
			sum = uint64(s.Deposits)
		}
		return len(states) == len(running) && len(seqs) == 1
	})
	if len(states) != len(running) || len(slices.Compact(slices.Sorted(maps.Values(states)))) != 1 {
		l.c.Errorf("the members differ: %v", states)
	}
	least := l.initial + uint64(l.deposits)*loadDeposit
	if most := least + uint64(l.unresolved.Load())*loadDeposit; sum < least || sum > most {
		l.c.Errorf("the deposits are %d pips, %d to %d were answered", sum, least, most)
	}
	for _, i := range running {
		l.checkAccounts(i)
		for _, t := range l.traders {
			l.checkOrders(i, t)
		}
	}
}

// checkAccounts checks that a member has each acknowledged account once, and every other at most once.
func (l *workload) checkAccounts(i int) {
	l.c.Helper()
	names := map[string]int{}
	for cursor := ""; ; {
		var list schemas.UserList
		if status, err := l.c.admin(l.c.Context(), i, "GET", "/admin/users?limit=1000&cursor="+cursor, nil, &list); err != nil || status != 200 {
			l.c.Fatal(status, err)
		}
		for _, u := range list.Users {
			names[u.Name]++
		}
		if cursor = list.Cursor; cursor == "" {
			break
		}
	}
	for name, acknowledged := range l.accounts {
		if n := names[name]; n > 1 || n == 0 && acknowledged {
			l.c.Errorf("%s has the account %s %d times", memberNames[i], name, n)
		}
	}
}

const (
	listedAtLeast = 150 // newest orders of an account that a member still lists: 200 rejected rows are kept
	probedIDs     = 5
)

// checkOrders checks that a member lists the newest acknowledged orders of a trader, each once, and
// that older client_order_ids are used.
func (l *workload) checkOrders(i int, t *loadTrader) {
	l.c.Helper()
	ctx := l.c.Context()
	rows := map[uint64]int{}
	reader := client.Must(client.New(l.c.url(i, 8080), t.key.APIKey, t.key.secret, client.WaitForTokens(), client.WithHTTPClient(l.c.http)))
	for o, err := range reader.AllOrders(ctx, schemas.ListOrders{}) {
		if err != nil {
			l.c.Fatal(err)
		}
		id := uint64(o.ClientOrderID)
		rows[id]++
		if known := t.orders[id]; known != 0 && (o.OrderID == nil || *o.OrderID != known) {
			l.c.Errorf("%s: order %d of %d was acknowledged as %d, and is %v", memberNames[i], id, t.user, known, o.OrderID)
		}
	}
	for id, n := range rows {
		if n != 1 {
			l.c.Errorf("%s lists client_order_id %d of %d %d times", memberNames[i], id, t.user, n)
		}
	}
	for _, id := range t.newest[max(0, len(t.newest)-listedAtLeast):] {
		if rows[id] != 1 {
			l.c.Errorf("%s: the acknowledged order %d of %d is lost", memberNames[i], id, t.user)
		}
	}
	if !l.c.serves(i) {
		return
	}
	for range min(probedIDs, len(t.newest)) {
		id := t.newest[rand.IntN(len(t.newest))]
		_, err := t.clients[i].PlaceOrder(ctx, schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: 1, Side: "buy", Outcome: t.outcome, Tick: schemas.Ptr(schemas.Int(100)), Qty: 1})
		if codeOf(err) != "duplicate_client_order_id" {
			l.c.Errorf("%s: the acknowledged client_order_id %d of %d again: %v", memberNames[i], id, t.user, err)
		}
	}
}

// verify checks the archive of a member that is stopped: `dx verify` accepts it, and its replay executes
// every acknowledged order once, and no order twice.
func (l *workload) verify(i int) {
	l.c.Helper()
	if !l.c.verifyArchive(i) {
		return
	}
	executed, whole, err := executedOrders(filepath.Join(l.c.data(i), "journal"))
	if err != nil {
		l.c.Errorf("the replay of %s: %v", memberNames[i], err)
		return
	}
	if !whole {
		return // it joined later, with a snapshot; the other archives have the beginning
	}
	for at, n := range executed {
		if n > 1 {
			l.c.Errorf("%s: client_order_id %d of %d was executed %d times", memberNames[i], at.id, at.user, n)
		}
	}
	for _, t := range l.traders {
		for _, id := range t.newest {
			if executed[placedOrder{t.user, id}] == 0 {
				l.c.Errorf("%s: the acknowledged order %d of %d is not in the archive", memberNames[i], id, t.user)
			}
		}
	}
}

// verifyArchive runs `dx verify` over the archive of a member that is stopped.
func (c *clusterTrial) verifyArchive(i int) bool {
	c.Helper()
	out, err := c.try("verify", c.data(i))
	if err != nil || !strings.HasPrefix(out, "whole: ") {
		c.Errorf("dx verify of %s: %v\n%s", memberNames[i], err, out)
		return false
	}
	return true
}

type placedOrder struct {
	user uint32
	id   uint64
}

// executedOrders replays an archive and counts how often each order was executed: a duplicate is not.
// whole is false if the archive begins later than the venue.
func executedOrders(dir string) (n map[placedOrder]int, whole bool, err error) {
	n = map[placedOrder]int{}
	r := replica.New(view.DefaultRetentionCaps())
	for at, err := range journal.Scan(dir, 0) {
		if _, torn := errors.AsType[*journal.Torn](err); torn {
			break
		}
		if err != nil {
			return n, true, err
		}
		if at.Number != r.At.Number+1 {
			return n, false, nil
		}
		cmds, err := replica.Commands(&at.Group)
		if err != nil {
			return n, true, err
		}
		out, err := r.Apply(&at.Group, cmds, nil)
		if err != nil {
			return n, true, err
		}
		for _, a := range out.Applied {
			if p, ok := a.Command.(*core.PlaceOrder); ok && a.Reject != core.DuplicateClientOrderID {
				n[placedOrder{uint32(p.User), p.ClientID}]++
			}
		}
	}
	return n, true, nil
}

// serves reports whether a member serves now.
func (c *clusterTrial) serves(i int) bool {
	state, err := c.stateOf(i)
	return err == nil && state == "serving"
}

// stopAll stops one member after the other with SIGTERM, so that each leaves a majority, or at least its
// last command, behind; each must exit with 0. The last one may wait for a majority, so it is killed; its
// archive was synced while the others stopped.
func (c *clusterTrial) stopAll() {
	c.Helper()
	left := 0
	for _, m := range c.members {
		if m.cmd != nil {
			left++
		}
	}
	for i, m := range c.members {
		switch {
		case m.cmd == nil:
		case left == 1:
			c.kill(i)
		default:
			c.terminate(i)
			left--
		}
	}
}

// createUser creates an account.
func (c *clusterTrial) createUser(name string) uint32 {
	c.Helper()
	var user struct {
		UserID uint32 `json:"user_id"`
	}
	if status, err := c.admin(c.Context(), 0, "POST", "/admin/users", map[string]string{"name": name}, &user); err != nil || status != 201 {
		c.Fatal(status, err)
	}
	return user.UserID
}

// gaps are the longest times without an answer, by the kind of the fault.
type gaps map[string][]time.Duration

func (g gaps) add(kind string, d time.Duration) { g[kind] = append(g[kind], d) }

// log writes median, 99th percentile and longest of each kind. They are figures and no bounds: they
// depend on the machine.
func (g gaps) log(t *testing.T) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(g)) {
		list := slices.Sorted(slices.Values(g[kind]))
		n := len(list)
		at := func(share float64) time.Duration {
			return list[min(n-1, int(share*float64(n)))].Round(time.Millisecond)
		}
		t.Logf("%-28s %3d times: longest time without an answer: median %v, p99 %v, most %v", kind, n, at(0.5), at(0.99), list[n-1].Round(time.Millisecond))
	}
}
