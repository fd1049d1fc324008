//go:build unix

package arena

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group, so that its children end with it.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interrupt(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) } // it may have ended

func kill(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // it may have ended
