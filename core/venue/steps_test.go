//go:build linux && amd64 && !race

package venue

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"duplex/core"
)

// The cost of a command is counted in instructions. A child process, this test binary again, applies
// one command after the other while the parent single-steps it with ptrace. The count depends on the
// compiler only: other load on the machine changes it by a few percent at most.
//
//	DX_STEPS=1 go test ./core/venue -run Steps -v

const stepsChild = "DX_STEPS_CHILD"

// The child's main goroutine must stay on its thread, because only that thread is traced.
func init() {
	if os.Getenv(stepsChild) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(stepsChild) != "" {
		stepsChildMain()
		return
	}
	os.Exit(m.Run())
}

// stepKinds are the commands that are counted, with the most instructions that each may take: about
// 4 % above what the machines measured so far count, which differ by 3 %.
var stepKinds = []struct {
	name string
	most int
	cmd  func(i int, seq uint64) core.Command
}{
	{"no command", 0, func(int, uint64) core.Command { return nil }},
	{"an order that rests", 1350, func(i int, _ uint64) core.Command {
		return &core.PlaceOrder{User: 1, ClientID: uint64(2*i + 1), Market: 1, Tick: core.Tick(4000 + i%8), Qty: 10}
	}},
	{"an order that takes", 2000, func(i int, _ uint64) core.Command {
		return &core.PlaceOrder{User: 2, ClientID: uint64(2*i + 1), Market: 1, Outcome: core.No, Tick: core.Tick(6000 - i%8), Qty: 4, TIF: core.IOC}
	}},
	{"a replace", 2200, func(i int, seq uint64) core.Command { // at most 1.7 times an order that rests
		return &core.ReplaceOrder{Old: core.OrderID(seq - 2), PlaceOrder: core.PlaceOrder{User: 1, ClientID: uint64(2*i + 2), Market: 1, Tick: core.Tick(3900 + i%8), Qty: 10}}
	}},
	{"a cancel", 1060, func(_ int, seq uint64) core.Command { return &core.CancelOrder{User: 1, Order: core.OrderID(seq - 1)} }},
}

const stepRounds = 6

// stepsChildMain is the child process. Each command is between a breakpoint and a signal to itself.
func stepsChildMain() {
	v, st := streamVenue(new(testing.B))
	ev := &core.Events{}
	pid, tid := syscall.Getpid(), syscall.Gettid()
	for i := range stepRounds {
		for _, k := range stepKinds {
			st.Seq++
			st.Ts++
			ev.Reset()
			c := k.cmd(i, st.Seq)
			runtime.Breakpoint()
			if c != nil && v.Apply(st, c, ev) != core.OK {
				os.Exit(1) // a rejection is not the path to count
			}
			_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(pid), uintptr(tid), uintptr(syscall.SIGUSR1))
		}
	}
}

// TestSteps checks that no command takes more instructions than its limit.
func TestSteps(t *testing.T) {
	if os.Getenv("DX_STEPS") == "" {
		t.Skip("counting takes up to a minute and needs a build without -race: set DX_STEPS=1")
	}
	counts, err := countSteps()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		t.Skip("ptrace is not permitted: ", err)
	}
	if errors.Is(err, errSlow) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	none := slices.Min(counts[0]) // the least, because a signal handler can run in between
	for i, k := range stepKinds[1:] {
		n := slices.Min(counts[i+1]) - none
		t.Logf("%s: %d instructions", k.name, n)
		if n > k.most || n < 100 {
			t.Errorf("%s takes %d instructions, limit %d", k.name, n, k.most)
		}
	}
}

// stepsMost bounds the steps of one command, those of the runtime included. If a step is so slow that
// the scheduler is always due, the command never ends. stepsOurs bounds the counted steps.
const (
	stepsMost = 5_000_000
	stepsOurs = 100_000
)

var errSlow = errors.New("single-stepping is too slow on this machine")

// countSteps runs the child and returns the steps of each command, by kind.
func countSteps() (counts [][]int, err error) {
	runtime.LockOSThread() // only one thread can trace a process
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, "-test.run", "^$")
	c.Env = append(os.Environ(), stepsChild+"=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = c.Process.Kill()
		_, _ = c.Process.Wait()
	}()
	pid := c.Process.Pid
	counts = make([][]int, len(stepKinds))
	var regs syscall.PtraceRegs
	ours := isCounted()
	wait := func() (syscall.WaitStatus, error) { // a raw system call: the runtime need not prepare for so short a wait
		var ws int32
		for {
			if _, _, e := syscall.RawSyscall6(syscall.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&ws)), 0, 0, 0, 0); e == 0 {
				return syscall.WaitStatus(ws), nil
			} else if e != syscall.EINTR {
				return 0, e
			}
		}
	}
	if _, err := wait(); err != nil { // it stops when it starts
		return nil, err
	}
	for n := range stepRounds * len(stepKinds) {
		if err := until(pid, wait, syscall.SIGTRAP); err != nil {
			return nil, err
		}
		steps := 0
		for taken := 0; ; taken++ {
			if steps > stepsOurs {
				return nil, fmt.Errorf("%s does not end within %d instructions", stepKinds[n%len(stepKinds)].name, steps)
			}
			if taken > stepsMost {
				return nil, errSlow
			}
			if err := syscall.PtraceSingleStep(pid); err != nil {
				return nil, err
			}
			ws, err := wait()
			if err != nil {
				return nil, err
			}
			if !ws.Stopped() {
				return nil, errors.New("the child has ended")
			}
			if ws.StopSignal() == syscall.SIGUSR1 {
				break
			}
			if err := fault(ws); err != nil {
				return nil, err
			}
			if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
				return nil, err
			}
			if ours(uintptr(regs.Rip)) {
				steps++
			}
		}
		counts[n%len(stepKinds)] = append(counts[n%len(stepKinds)], steps)
	}
	return counts, nil
}

// counted are the prefixes of the functions whose instructions count.
var counted = []string{
	"duplex/", "github.com/", "slices.", "cmp.", "container/", "math/",
	"runtime.mem", "runtime.map", "internal/runtime/maps.", "runtime.malloc", "runtime.growslice", "runtime.makeslice", "runtime.newobject",
}

// isCounted returns a function that reports whether the instruction at pc counts: this project's code,
// libraries and the parts of the runtime that they call. The scheduler does not count: only single-stepping
// makes it run so often.
func isCounted() func(pc uintptr) bool {
	known := map[uintptr]bool{}
	return func(pc uintptr) bool {
		is, ok := known[pc]
		if !ok {
			if f := runtime.FuncForPC(pc); f != nil {
				is = slices.ContainsFunc(counted, func(p string) bool { return strings.HasPrefix(f.Name(), p) })
			}
			known[pc] = is
		}
		return is
	}
}

// until lets the child run until it receives a signal, and suppresses the runtime's other signals.
func until(pid int, wait func() (syscall.WaitStatus, error), want syscall.Signal) error {
	for {
		if err := syscall.PtraceCont(pid, 0); err != nil {
			return err
		}
		ws, err := wait()
		switch {
		case err != nil:
			return err
		case !ws.Stopped():
			return errors.New("the child has ended")
		case ws.StopSignal() == want:
			return nil
		case fault(ws) != nil:
			return fault(ws)
		}
	}
}

// fault returns an error if the child stopped at a signal of a crash.
func fault(ws syscall.WaitStatus) error {
	switch s := ws.StopSignal(); s {
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT:
		return fmt.Errorf("the child has crashed: %v", s)
	default:
		return nil
	}
}
