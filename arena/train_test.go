package arena

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"duplex/core"
)

// trainAnswer is an answer of Train.
type trainAnswer struct {
	Error string
	Envs  json.RawMessage
}

// episode is what an answer has of one environment.
type episode struct {
	Steps        []json.RawMessage
	Ended        string
	CommandsHash string `json:"commands_hash"`
}

// trainClient is a client of Train in the same process.
type trainClient struct {
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Scanner
}

func newTrainClient(t testing.TB, change ...func(*Config)) *trainClient {
	c := NewConfig()
	c.Hand, c.Seats = true, []Seat{{Name: "agent"}}
	for _, f := range change {
		f(c)
	}
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Train(context.Background(), c, in, out)
		out.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		requests.Close()
		if err := <-ended; err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
	x := &trainClient{t: t, in: requests, out: bufio.NewScanner(answers)}
	x.out.Buffer(nil, 1<<30)
	return x
}

// send sends a request and returns its answer.
func (x *trainClient) send(request string) (a trainAnswer) {
	x.t.Helper()
	if _, err := fmt.Fprintln(x.in, request); err != nil || !x.out.Scan() {
		x.t.Fatalf("%s: no answer: %v, %v", request, err, x.out.Err())
	}
	if err := json.Unmarshal(x.out.Bytes(), &a); err != nil {
		x.t.Fatalf("%s: %s: %v", request, x.out.Bytes(), err)
	}
	return a
}

// episodes sends a request that has no error, and returns what its answer has of each environment.
func (x *trainClient) episodes(request string, args ...any) (list []episode) {
	x.t.Helper()
	a := x.send(fmt.Sprintf(request, args...))
	if a.Error != "" {
		x.t.Fatalf("%s: %s", fmt.Sprintf(request, args...), a.Error)
	}
	if err := json.Unmarshal(a.Envs, &list); err != nil {
		x.t.Fatal(err)
	}
	return list
}

// open opens environments with settings beside those of a minute's rounds.
func (x *trainClient) open(n, rounds int, more string) {
	x.t.Helper()
	if more == "" {
		more = `"seats":["agent"]`
	}
	if a := x.send(fmt.Sprintf(`{"op":"open","n":%d,"rounds":%d,"step_ms":1000,"qty":5,"fund":1000,%s}`, n, rounds, more)); a.Error != "" {
		x.t.Fatal(a.Error)
	}
}

// scripted returns the action of a seat in a step: each of the five in turn, in another order for each seat.
func scripted(seat, step int) action { return action((step*(seat+2) + step/7) % int(actions)) }

// actionText returns a text of so many steps of some seats.
func actionText(seats, steps int) string {
	var b strings.Builder
	for n := range steps {
		for seat := range seats {
			fmt.Fprint(&b, scripted(seat, n))
		}
	}
	return b.String()
}

// actScripted is a baseline that does what a seat of a training environment does with so many actions of
// actionText, through the operations of the lanes.
func actScripted(seat, steps int) func(*builtin) {
	return func(b *builtin) {
		start, _ := timeOf("2026-01-05T00:00:00Z")
		n := int((b.now - start - firstLook) / core.NsPerSec)
		if b.now < start+firstLook || n >= steps {
			return
		}
		a, r := scripted(seat, n), &b.round
		outcome, side, qty := core.Yes, "buy", core.Qty(5)
		if a == buyNo || a == sellNo {
			outcome = core.No
		}
		tick := r.askOf(outcome)
		if a == sellYes || a == sellNo {
			side, qty = "sell", min(qty, []core.Qty{core.Yes: r.yes, core.No: r.no}[outcome])
			if tick = r.askOf(outcome.Other()); tick != 0 {
				tick = tick.Opposite()
			}
		}
		if a != hold && tick != 0 && qty != 0 {
			b.place(side, outcome, tick, qty, "ioc", false)
		}
	}
}

// TestTrainIsARun tests that the commands of an environment are those of a run in which seats act in the same
// way, whether it is stepped alone, beside others, or runs in one request, with one seat and with three.
func TestTrainIsARun(t *testing.T) {
	const steps = 3*60 + 1 - 2 // three rounds and a second, less the time before the first step
	for _, seats := range []int{1, 3} {
		c := testConfig(t, func(c *Config) {
			c.Seeds, c.Seats = "7..8", nil
			for i := range seats {
				kind := fmt.Sprint("scripted", i)
				baselines[kind] = actScripted(i, steps)
				t.Cleanup(func() { delete(baselines, kind) })
				c.Seats = append(c.Seats, Seat{Name: fmt.Sprint("agent-", i+1), Kind: kind, Fund: int64(1000)})
			}
		})
		dir := t.TempDir()
		mustRun(t, c, Options{Dir: dir})
		var want []string
		for _, f := range figuresOf(t, dir) {
			want = append(want, f.CommandsHash)
			for _, s := range f.Seats {
				if s.Fills < 20 {
					t.Errorf("%d seats: %s has %d fills", seats, s.Name, s.Fills)
				}
			}
		}
		names, _ := json.Marshal([]string{"agent-1", "agent-2", "agent-3"}[:seats])
		x := newTrainClient(t)
		x.open(3, 3, `"seats":`+string(names))
		x.episodes(`{"op":"reset","envs":[1,2,3],"seeds":[7,8,7]}`)
		text := actionText(seats, 200)
		whole := x.episodes(`{"op":"step","envs":[1,2],"actions":[%q,%q]}`, text, text)
		var single episode
		for single.Ended == "" {
			e := x.episodes(`{"op":"step","envs":[3],"actions":[%q]}`, text[:seats])[0]
			e.Steps = append(single.Steps, e.Steps...)
			single, text = e, text[seats:]
		}
		if got := []string{whole[0].CommandsHash, whole[1].CommandsHash}; !slices.Equal(got, want) {
			t.Errorf("%d seats: the commands are %v, and %v in a run", seats, got, want)
		}
		if !reflect.DeepEqual(whole[0], single) {
			t.Errorf("%d seats: %d steps in one request, %d alone differ", seats, len(whole[0].Steps), len(single.Steps))
		}
		if whole[0].Ended != "terminated" || len(whole[0].Steps) != steps || whole[0].CommandsHash == whole[1].CommandsHash {
			t.Errorf("%d seats: it ended with %q after %d steps", seats, whole[0].Ended, len(whole[0].Steps))
		}
		after := x.episodes(`{"op":"step","envs":[1],"actions":[%q]}`, strings.Repeat("1", seats))[0]
		if len(after.Steps) != 0 || after.CommandsHash != whole[0].CommandsHash {
			t.Errorf("%d seats: it goes on after its end: %v", seats, after)
		}
		if x.episodes(`{"op":"reset","envs":[1],"seeds":[8]}`); x.episodes(`{"op":"step","envs":[1],"actions":[%q]}`, actionText(seats, 200))[0].CommandsHash != want[1] {
			t.Errorf("%d seats: another seed after a reset differs from a new environment", seats)
		}
	}
}

// TestTrainEnds tests that an episode is truncated at its limit of steps.
func TestTrainEnds(t *testing.T) {
	x := newTrainClient(t)
	x.open(1, 5, `"seats":["agent"],"max_steps":3`)
	x.episodes(`{"op":"reset","envs":[1],"seeds":[1]}`)
	if e := x.episodes(`{"op":"step","envs":[1],"actions":["00"]}`)[0]; e.Ended != "" || e.CommandsHash != "" {
		t.Error(e)
	}
	if e := x.episodes(`{"op":"step","envs":[1],"actions":["00"]}`)[0]; e.Ended != "truncated" || len(e.CommandsHash) != 64 || len(e.Steps) != 1 {
		t.Error(e)
	}
}

// TestTrainRejected tests that a rejected order shows its code, in its step alone.
func TestTrainRejected(t *testing.T) {
	x := newTrainClient(t)
	if a := x.send(`{"op":"open","n":1,"rounds":1,"step_ms":1000,"qty":1000,"fund":1,"seats":["agent"]}`); a.Error != "" {
		t.Fatal(a.Error)
	}
	x.episodes(`{"op":"reset","envs":[1],"seeds":[1]}`)
	e := x.episodes(`{"op":"step","envs":[1],"actions":["00000010"]}`)[0]
	for i, step := range e.Steps {
		if want := i == 6; strings.Contains(string(step), `,"insufficient_balance"]`) != want {
			t.Errorf("step %d: %s, want the code: %v", i, step, want)
		}
	}
}

// TestTrainBadInput tests that a request that cannot be executed is answered with an error that names what is
// wrong, and changes nothing.
func TestTrainBadInput(t *testing.T) {
	x := newTrainClient(t)
	x.open(3, 2, "")
	x.open(1, 2, `"seats":["one","two"]`)
	x.episodes(`{"op":"reset","envs":[1,2,4],"seeds":[1,2,3]}`)
	x.episodes(`{"op":"step","envs":[1,2],"actions":["0001","0001"]}`)
	open := func(changed string) string {
		fields := map[string]string{"n": "1", "rounds": "2", "step_ms": "1000", "qty": "5", "fund": "1000", "seats": `["agent"]`}
		name, value, _ := strings.Cut(changed, "=")
		fields[name] = value
		request := `{"op":"open"`
		for name, value := range fields {
			request += fmt.Sprintf(",%q:%s", name, value)
		}
		return request + "}"
	}
	for request, want := range map[string]string{
		`{"op":"step","envs":[1,9],"actions":["1","1"]}`:                                      "environment 9 is not open",
		`{"op":"step","envs":[1,1],"actions":["1","1"]}`:                                      "environment 1 is named twice",
		`{"op":"step","envs":[1,2],"actions":["1"]}`:                                          "1 list of actions for 2 environments",
		`{"op":"step","envs":[1,3],"actions":["1",""]}`:                                       "environment 3 has no venue: reset it",
		`{"op":"step","envs":[1,2],"actions":["1","` + strings.Repeat("1", trainLine) + `"]}`: "request: over 1048576 bytes",
		strings.Repeat(" ", trainLine) + `{"op":"close","envs":[1]}`:                          "request: over 1048576 bytes",
		`{"op":"step","envs":[1,4],"actions":["1","101"]}`:                                    "3 actions for environment 4: one for each of 2 seats",
		`{"op":"step","envs":[1,2],"actions":["1","5"]}`:                                      "digits from 0 to 4, not '5'",
		`{"op":"step","envs":[1,3],"actions":["1","1"]}`:                                      "environment 3 has no venue: reset it",
		`{"op":"step","envs":[1],"actions":["` + strings.Repeat("1", trainActions+1) + `"]}`:  "at most 100000 in a request",
		`{"op":"step","envs":[],"actions":[]}`:                                                "at least one environment",
		`{"op":"reset","envs":[1,2],"seeds":[1]}`:                                             "1 seed for 2 environments",
		`{"op":"reset","envs":[1,2],"seeds":[1,-1]}`:                                          "seed -1: a whole number from 0 to 9223372036854775807",
		`{"op":"reset","envs":[1,2],"seeds":[1,9223372036854775808]}`:                         "seed 9223372036854775808",
		`{"op":"reset","envs":[1,2],"seeds":[1,1.5]}`:                                         "seed 1.5",
		`{"op":"reset","envs":[1,0],"seeds":[1,1]}`:                                           "environment 0 is not open",
		`{"op":"close","envs":[1,9]}`:                                                         "environment 9 is not open",
		`{"op":"stop"}`:                                                                       `op "stop"`,
		`{"op":"step","env":1}`:                                                               `unknown field "env"`,
		`step`:                                                                                "request: ",
		open("n=0"):                                                                           "0 environments beside 4",
		open("n=253"):                                                                         "together at most 256",
		open("rounds=0"):                                                                      "rounds 0",
		open("step_ms=0"):                                                                     "step_ms 0",
		open("step_ms=86400001"):                                                              "step_ms 86400001",
		open("qty=0"):                                                                         "qty 0",
		open("qty=1000001"):                                                                   "qty 1000001",
		open("fund=0"):                                                                        "more than 0 dollars",
		open("fund=-1"):                                                                       "fund -1: dollars",
		open("max_steps=-1"):                                                                  "max_steps -1",
		open("seats=[]"):                                                                      "no seats",
		open(`seats=["a","a"]`):                                                               "used twice",
		open(`seats=["A"]`):                                                                   `seat "A"`,
	} {
		if a := x.send(request); !strings.Contains(a.Error, want) {
			t.Errorf("%.80s: %q, want %q", request, a.Error, want)
		}
	}
	fresh := newTrainClient(t)
	fresh.open(1, 2, "")
	fresh.episodes(`{"op":"reset","envs":[1],"seeds":[1]}`)
	text := actionText(1, 200)
	want := fresh.episodes(`{"op":"step","envs":[1],"actions":[%q]}`, "0001"+text)[0]
	if got := x.episodes(`{"op":"step","envs":[1],"actions":[%q]}`, text)[0]; got.CommandsHash != want.CommandsHash {
		t.Error("a refused request has changed an environment")
	}
	x.open(252, 2, "")
	x.send(`{"op":"close","envs":[1,2,3]}`)
	x.open(3, 2, "")
}

// TestTrainConfig tests the settings that training does not have.
func TestTrainConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"pace":  func(c *Config) { c.Pace = "60" },
		"think": func(c *Config) { c.Think = 1 },
	} {
		c := testConfig(t, change)
		if err := Train(t.Context(), c, strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "pace step") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTrainLines tests requests up to the limit of a line and over it, a last line without an end, and an error of
// reading.
func TestTrainLines(t *testing.T) {
	const stop, tooLong, stopped = `{"op":"stop"}`, `{"error":"request: over 1048576 bytes"}` + "\n", `{"error":"op \"stop\": open, reset, step or close"}` + "\n"
	blanks := func(n int) io.Reader { return strings.NewReader(strings.Repeat(" ", n)) }
	text := strings.NewReader
	broken := errors.New("broken")
	for name, x := range map[string]struct {
		in   io.Reader
		want string
		err  error
	}{
		"the limit":                   {io.MultiReader(blanks(trainLine-len(stop)-1), text(stop+"\n")), stopped, nil},
		"a byte more":                 {io.MultiReader(blanks(trainLine-len(stop)), text(stop+"\n"+stop+"\n")), tooLong + stopped, nil},
		"a line of many limits":       {io.MultiReader(blanks(9*trainLine), text(stop+"\n"+stop+"\n")), tooLong + stopped, nil},
		"two in a row":                {io.MultiReader(blanks(trainLine), text("\n"), blanks(trainLine), text("\n"+stop)), tooLong + tooLong + stopped, nil},
		"no line end":                 {text(stop + "\n" + stop), stopped + stopped, nil},
		"a long line without its end": {blanks(2 * trainLine), tooLong, nil},
		"nothing":                     {text(""), "", nil},
		"an error":                    {io.MultiReader(text(stop+"\n"), iotest.ErrReader(broken)), stopped, broken},
		"an error in a long line":     {io.MultiReader(blanks(2*trainLine), iotest.ErrReader(broken)), "", broken},
	} {
		var out strings.Builder
		if err := Train(t.Context(), testConfig(t), x.in, &out); !errors.Is(err, x.err) || out.String() != x.want {
			t.Errorf("%s: %v and the answers\n%s, want %v and\n%s", name, err, out.String(), x.err, x.want)
		}
	}
}

// TestTrainNoSteps tests that a list without actions plays no step, beside others that do.
func TestTrainNoSteps(t *testing.T) {
	x := newTrainClient(t)
	x.open(2, 1, "")
	x.episodes(`{"op":"reset","envs":[1,2],"seeds":[1,1]}`)
	text := actionText(1, 100)
	for range 2 { // before and after the end of the other
		list := x.episodes(`{"op":"step","envs":[1,2],"actions":["",%q]}`, text)
		if len(list[0].Steps) != 0 || list[0].Ended != "" || list[1].Ended != "terminated" {
			t.Errorf("%d steps of no actions, after which it is %q; the other %q", len(list[0].Steps), list[0].Ended, list[1].Ended)
		}
	}
	hash := x.episodes(`{"op":"step","envs":[1],"actions":[%q]}`, text)[0].CommandsHash
	list := x.episodes(`{"op":"step","envs":[1,2],"actions":["",""]}`)
	for i, e := range list {
		if len(e.Steps) != 0 || e.Ended != "terminated" || e.CommandsHash != hash {
			t.Errorf("environment %d after its end: %+v, want the hash %s", i+1, e, hash)
		}
	}
}

// BenchmarkTrain measures the steps of 32 environments, each of which plays an episode of 20 rounds in requests
// of 60 steps.
func BenchmarkTrain(b *testing.B) {
	x := newTrainClient(b)
	x.open(32, 20, "")
	var envs, seeds, texts []string
	for i := range 32 {
		envs, seeds, texts = append(envs, fmt.Sprint(i+1)), append(seeds, fmt.Sprint(i)), append(texts, `"`+strings.Repeat("00010002000300040", 4)[:60]+`"`)
	}
	all := strings.Join(envs, ",")
	reset := fmt.Sprintf(`{"op":"reset","envs":[%s],"seeds":[%s]}`, all, strings.Join(seeds, ","))
	step := fmt.Sprintf(`{"op":"step","envs":[%s],"actions":[%s]}`, all, strings.Join(texts, ","))
	steps := 0
	x.send(reset)
	for b.Loop() {
		list := x.episodes("%s", step)
		for _, e := range list {
			steps += len(e.Steps)
		}
		if list[0].Ended != "" {
			x.send(reset)
		}
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}

// TestTrainTape tests that an environment plays the window of its seed, and that a tape must have one.
func TestTrainTape(t *testing.T) {
	path, _ := writeTape(t, 2*240+10)
	x := newTrainClient(t, func(c *Config) { c.Tape = path })
	x.open(3, 1, "")
	x.episodes(`{"op":"reset","envs":[1,2,3],"seeds":[0,1,2]}`)
	text := strings.Repeat("0", 100)
	list := x.episodes(`{"op":"step","envs":[1,2,3],"actions":[%q,%q,%q]}`, text, text, text)
	index := func(e episode) (prices []string) {
		for _, step := range e.Steps {
			prices = append(prices, strings.Split(string(step), ",")[1])
		}
		return prices
	}
	if list[0].Ended != "terminated" || slices.Equal(index(list[0]), index(list[1])) || !slices.Equal(index(list[0]), index(list[2])) {
		t.Errorf("it ended with %q; of two windows, seeds 0 and 2 play one and seed 1 the other", list[0].Ended)
	}
	a := x.send(`{"op":"open","n":1,"rounds":9,"step_ms":1000,"qty":5,"fund":1000,"seats":["agent"]}`)
	if !strings.Contains(a.Error, "490 seconds, and 9 rounds of btc-60s need 720") {
		t.Error(a.Error)
	}
}
