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

// What a command costs is counted in instructions: a child, this test over again, does
// one command after the other, and is taken through each a single step at a time. The
// count is the compiler's, within a few hundredths whatever the machine and its neighbours.
//
//	DX_STEPS=1 go test ./core/venue -run Steps -v

const stepsChild = "DX_STEPS_CHILD"

// The child's main goroutine stays on the thread that is traced.
func init() {
	if os.Getenv(stepsChild) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(stepsChild) != "" {
		stepped()
		return
	}
	os.Exit(m.Run())
}

// stepKinds are what is counted, and the most instructions each may take.
var stepKinds = []struct {
	name string
	most int
	cmd  func(i int, seq uint64) core.Command
}{
	{"nothing at all", 0, func(int, uint64) core.Command { return nil }},
	{"an order that rests", 1250, func(i int, _ uint64) core.Command {
		return &core.PlaceOrder{User: 1, ClientID: uint64(2*i + 1), Market: 1, Tick: core.Tick(4000 + i%8), Qty: 10}
	}},
	{"an order that takes", 1780, func(i int, _ uint64) core.Command {
		return &core.PlaceOrder{User: 2, ClientID: uint64(2*i + 1), Market: 1, Outcome: core.No, Tick: core.Tick(6000 - i%8), Qty: 4, TIF: core.IOC}
	}},
	{"a cancel", 1010, func(_ int, seq uint64) core.Command { return &core.CancelOrder{User: 1, Order: core.OrderID(seq - 2)} }},
}

const stepRounds = 6

// stepped is the child: a breakpoint before each command, a signal to itself behind it.
func stepped() {
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
				os.Exit(1) // not what is to be counted
			}
			_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(pid), uintptr(tid), uintptr(syscall.SIGUSR1))
		}
	}
}

// TestSteps: no command takes more instructions than it may.
func TestSteps(t *testing.T) {
	if os.Getenv("DX_STEPS") == "" {
		t.Skip("it counts instructions, for up to a minute, and wants a plain build: set DX_STEPS=1")
	}
	counts, err := countSteps()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		t.Skip("no process can be traced here: ", err)
	}
	if errors.Is(err, errSlow) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	none := slices.Min(counts[0]) // the least: a step takes long, and a call that was let in between begins anew
	for i, k := range stepKinds[1:] {
		n := slices.Min(counts[i+1]) - none
		t.Logf("%s: %d instructions", k.name, n)
		if n > k.most || n < 100 {
			t.Errorf("%s takes %d instructions, %d are allowed", k.name, n, k.most)
		}
	}
}

// stepsMost of all steps, those of the runtime too, end the count: where a step takes so
// long that the scheduler is always due, a command would never come to its end. stepsOurs
// are more than any command takes of those that are counted.
const (
	stepsMost = 5_000_000
	stepsOurs = 100_000
)

var errSlow = errors.New("steps take too long here")

// countSteps runs the child, and gives the steps of each kind of command.
func countSteps() (counts [][]int, err error) {
	runtime.LockOSThread() // a process is traced by one thread
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
	ours := program()
	wait := func() (syscall.WaitStatus, error) { // raw: the runtime is not told of so short a wait
		var ws int32
		for {
			if _, _, e := syscall.RawSyscall6(syscall.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&ws)), 0, 0, 0, 0); e == 0 {
				return syscall.WaitStatus(ws), nil
			} else if e != syscall.EINTR {
				return 0, e
			}
		}
	}
	if _, err := wait(); err != nil { // it stands at its beginning
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

// counted are the names of functions whose instructions are.
var counted = []string{
	"duplex/", "github.com/", "slices.", "cmp.", "container/", "math/",
	"runtime.mem", "runtime.map", "internal/runtime/maps.", "runtime.malloc", "runtime.growslice", "runtime.makeslice", "runtime.newobject",
}

// program tells which instructions are counted: our code, libraries, and what of the
// runtime they call. Not its scheduler, which finds that a step takes long and lets others
// run.
func program() func(pc uintptr) bool {
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

// until lets the child run to a signal, and keeps other signals of the runtime from it.
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

// fault is the signal of a child that has crashed.
func fault(ws syscall.WaitStatus) error {
	switch s := ws.StopSignal(); s {
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT:
		return fmt.Errorf("the child has crashed: %v", s)
	default:
		return nil
	}
}
