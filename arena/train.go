package arena

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"duplex/core"
)

// The limits of training (docs/guides/arena.md#train-an-agent).
const (
	trainEnvironments = 256        // that are open at a time, each of up to 10 MB
	trainActions      = 100_000    // in a request, of all environments and seats together
	trainStepMs       = 86_400_000 // the longest step
	trainLine         = 1 << 20    // bytes of a request with its line end, which is more than those need
)

// trainRequest is a line of a client of Train.
type trainRequest struct {
	Op string `json:"op"` // open, reset, step or close

	// Of open.
	N        int         `json:"n"`         // environments
	Seats    []string    `json:"seats"`     // their names
	Rounds   int         `json:"rounds"`    // final ones that end an episode
	StepMs   int64       `json:"step_ms"`   // venue time of a step
	Qty      core.Qty    `json:"qty"`       // contracts of an order
	Fund     json.Number `json:"fund"`      // dollars of a seat
	MaxSteps int         `json:"max_steps"` // 0: no limit

	Envs    []int         `json:"envs"`    // of reset, step and close: numbers of environments
	Seeds   []json.Number `json:"seeds"`   // of reset: one for each environment
	Actions []string      `json:"actions"` // of step, one for each environment: a digit for each seat of each step; "" for no step
}

// trainServer holds the environments of one client.
type trainServer struct {
	base *Config
	last int // number of the newest environment
	envs map[int]*trainSlot
}

// trainSlot is an environment. env is nil before its first reset.
type trainSlot struct {
	set *environmentSettings
	env *environment
}

// Train serves training environments to one client until in ends, or ctx does. A request is a line of JSON, and
// so is its answer. A request that cannot be executed changes nothing, and is answered with {"error": TEXT}. The
// error of Train is one of in, out or the venue. c is complete; its seats and rounds come with the requests.
//
//	{"op":"open","n":2,"seats":["agent"],"rounds":20,"step_ms":1000,"qty":5,"fund":1000}
//	{"envs":[1,2]}
//	{"op":"reset","envs":[1,2],"seeds":[7,8]}
//	{"envs":[{"steps":[[0,[INDEX,STRIKE,SECS,BID,ASK,YES,NO,EQUITY]]]},...]}
//	{"op":"step","envs":[1,2],"actions":["0112","0"]}
//	{"envs":[{"steps":[[FINAL,[...]],...],"ended":"terminated","commands_hash":HASH},...]}
//	{"op":"close","envs":[1,2]}
//	{"envs":[]}
//
// A step has the number of final rounds, and what each seat sees: index and strike at 1e8 scale, whole seconds to
// the close, best bid and ask of YES in pips, contracts of YES and NO, equity in pips. A value that is
// missing is 0. If its order was rejected, the code follows. Actions after the end of an episode have no steps.
func Train(ctx context.Context, c *Config, in io.Reader, out io.Writer) error {
	if c.pace != 0 || c.Think != 0 {
		return badConfig("training has the pace step, and thinking takes no time")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type request struct {
		line []byte
		err  error
	}
	requests := make(chan request)
	go func() { // a read may last for longer than ctx
		for r := bufio.NewReaderSize(in, trainLine); ; {
			line, err := readRequest(r)
			select {
			case requests <- request{line, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	s := &trainServer{base: c, envs: map[int]*trainSlot{}}
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-requests:
			if errors.Is(r.err, io.EOF) {
				return nil
			}
			answer, err := s.answer(r.line, r.err)
			if err != nil {
				return err
			}
			if _, err := out.Write(answer); err != nil {
				return err
			}
		}
	}
}

// readRequest returns the next line. A line of over trainLine bytes is a ConfigError: it is passed over, and not kept in
// memory.
func readRequest(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err == nil || errors.Is(err, io.EOF) {
			return nil, badConfig("request: over %d bytes", trainLine)
		}
	}
	if errors.Is(err, io.EOF) && len(line) > 0 { // the last line has no end
		err = nil
	}
	return bytes.Clone(line), err
}

// answer executes a request, whose reading has ended with err. The error that it returns is one of the venue or of
// reading.
func (s *trainServer) answer(line []byte, err error) ([]byte, error) {
	var answer []byte
	if err == nil {
		answer, err = s.execute(line)
	}
	if bad, ok := errors.AsType[*ConfigError](err); ok {
		answer, err = json.Marshal(map[string]string{"error": bad.Error()})
	}
	return append(answer, '\n'), err
}

// execute executes a request. An error of the request is a ConfigError.
func (s *trainServer) execute(line []byte) ([]byte, error) {
	var r trainRequest
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, badConfig("request: %w", err)
	}
	switch r.Op {
	case "open":
		return s.open(&r)
	case "reset":
		return s.reset(&r)
	case "step":
		return s.step(&r)
	case "close":
		return s.close(&r)
	}
	return nil, badConfig("op %q: open, reset, step or close", r.Op)
}

// open makes environments without a venue.
func (s *trainServer) open(r *trainRequest) ([]byte, error) {
	fund, err := dollars(r.Fund)
	switch {
	case err != nil:
		return nil, badConfig("%w", err)
	case fund == 0:
		return nil, badConfig("fund %s: more than 0 dollars", r.Fund)
	case r.N < 1 || r.N > trainEnvironments-len(s.envs):
		return nil, badConfig("%d environments beside %d: from 1, together at most %d", r.N, len(s.envs), trainEnvironments)
	case r.StepMs < 1 || r.StepMs > trainStepMs:
		return nil, badConfig("step_ms %d: from 1 to %d", r.StepMs, trainStepMs)
	case r.Qty < 1 || r.Qty > core.QtyMax:
		return nil, badConfig("qty %d: from 1 to %d contracts", r.Qty, core.QtyMax)
	case r.MaxSteps < 0:
		return nil, badConfig("max_steps %d: at least 1, or 0 for no limit", r.MaxSteps)
	}
	c := *s.base
	c.Hand, c.Rounds, c.Seats = true, r.Rounds, nil
	for _, name := range r.Seats {
		c.Seats = append(c.Seats, Seat{Name: name, Fund: r.Fund})
	}
	if err := c.Complete(); err != nil {
		return nil, err
	}
	if c.tape != nil && c.TapeWindows == 0 {
		return nil, badConfig("tape %s has %d seconds, and %s of %s need %d", c.Tape, len(c.tape.prices), several(c.Rounds, "round"), c.Series, c.windowSeconds)
	}
	set, err := newEnvironmentSettings(&c, r.StepMs*core.NsPerMs, r.Qty, r.MaxSteps)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, r.N)
	for i := range numbers {
		s.last++
		numbers[i], s.envs[s.last] = s.last, &trainSlot{set: set}
	}
	return json.Marshal(map[string][]int{"envs": numbers})
}

// slots returns the environments of a request, which names each once.
func (s *trainServer) slots(r *trainRequest) ([]*trainSlot, error) {
	if len(r.Envs) == 0 {
		return nil, badConfig("envs: at least one environment")
	}
	named := make(map[int]bool, len(r.Envs))
	list := make([]*trainSlot, len(r.Envs))
	for i, n := range r.Envs {
		switch list[i] = s.envs[n]; {
		case list[i] == nil:
			return nil, badConfig("environment %d is not open", n)
		case named[n]:
			return nil, badConfig("environment %d is named twice", n)
		}
		named[n] = true
	}
	return list, nil
}

// reset opens a new venue for each environment.
func (s *trainServer) reset(r *trainRequest) ([]byte, error) {
	slots, err := s.slots(r)
	if err != nil {
		return nil, err
	}
	if len(r.Seeds) != len(slots) {
		return nil, badConfig("%s for %s", several(len(r.Seeds), "seed"), several(len(slots), "environment"))
	}
	seeds := make([]uint64, len(slots))
	for i, text := range r.Seeds {
		if seeds[i], err = strconv.ParseUint(text.String(), 10, 63); err != nil {
			return nil, badConfig("seed %s: a whole number from 0 to %d", text, uint64(math.MaxInt64))
		}
	}
	opened := make([]*environment, len(slots))
	answers := make([][]byte, len(slots))
	if err := parallel(len(slots), func(i int) (err error) {
		if opened[i], err = newEnvironment(slots[i].set, seeds[i]); err == nil {
			answers[i] = opened[i].appendEnd(opened[i].appendStep(nil))
		}
		return err
	}); err != nil {
		return nil, err
	}
	for i, x := range slots {
		x.env = opened[i]
	}
	return joinAnswers(answers), nil
}

// step plays the actions of each environment.
func (s *trainServer) step(r *trainRequest) ([]byte, error) {
	slots, err := s.slots(r)
	if err != nil {
		return nil, err
	}
	if len(r.Actions) != len(slots) {
		return nil, badConfig("%s for %s", several(len(r.Actions), "list")+" of actions", several(len(slots), "environment"))
	}
	total := 0
	for i, text := range r.Actions {
		total += len(text)
		switch {
		case slots[i].env == nil:
			return nil, badConfig("environment %d has no venue: reset it before a step", r.Envs[i])
		case len(text)%len(slots[i].env.seats) != 0:
			return nil, badConfig("%s for environment %d: one for each of %s in each step", several(len(text), "action"), r.Envs[i], several(len(slots[i].env.seats), "seat"))
		}
		for _, x := range []byte(text) {
			if x < '0' || x >= '0'+byte(actions) {
				return nil, badConfig("actions of environment %d: digits from 0 to %d, not %q", r.Envs[i], actions-1, x)
			}
		}
	}
	if total > trainActions {
		return nil, badConfig("%d actions: at most %d in a request", total, trainActions)
	}
	answers := make([][]byte, len(slots))
	if err := parallel(len(slots), func(i int) (err error) {
		answers[i], err = slots[i].env.run(r.Actions[i])
		return err
	}); err != nil {
		return nil, fmt.Errorf("the venue: %v", err) // not the error of a request: environments have changed
	}
	return joinAnswers(answers), nil
}

// close forgets environments.
func (s *trainServer) close(r *trainRequest) ([]byte, error) {
	if _, err := s.slots(r); err != nil {
		return nil, err
	}
	for _, n := range r.Envs {
		delete(s.envs, n)
	}
	return joinAnswers(nil), nil
}

// run plays the steps of a text of actions until the episode ends, and returns their answer.
func (e *environment) run(text string) (answer []byte, err error) {
	does := make([]action, len(e.seats))
	for e.ended == "" && text != "" {
		for i := range does {
			does[i] = action(text[i] - '0')
		}
		text = text[len(does):]
		if err := e.play(does); err != nil {
			return nil, err
		}
		answer = e.appendStep(answer)
	}
	return e.appendEnd(answer), nil
}

// appendStep appends what the seats see.
func (e *environment) appendStep(b []byte) []byte {
	if len(b) == 0 {
		b = append(b, `{"steps":[`...)
	} else {
		b = append(b, ',')
	}
	b = strconv.AppendInt(append(b, '['), int64(e.final), 10)
	for i := range e.seats {
		x := &e.seats[i].seen
		b = append(b, ',')
		sep := byte('[')
		for _, n := range [...]int64{int64(x.index), int64(x.strike), x.secs, int64(x.bid), int64(x.ask), int64(x.yes), int64(x.no), int64(x.equity)} {
			b = strconv.AppendInt(append(b, sep), n, 10)
			sep = ','
		}
		if x.rejected != core.OK {
			b = strconv.AppendQuote(append(b, ','), x.rejected.String())
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// appendEnd ends the answer of an environment.
func (e *environment) appendEnd(b []byte) []byte {
	if len(b) == 0 {
		b = append(b, `{"steps":[`...)
	}
	b = append(b, ']')
	if e.ended != "" {
		b = fmt.Appendf(b, `,"ended":%q,"commands_hash":%q`, e.ended, e.hash.String())
	}
	return append(b, '}')
}

func joinAnswers(list [][]byte) []byte {
	return fmt.Appendf(nil, `{"envs":[%s]}`, bytes.Join(list, []byte{','}))
}

// parallel calls f with each number below n, on all processors. It returns the first error by number.
func parallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = f(i)
		}
	}
	var others sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return cmp.Or(errs...)
}
