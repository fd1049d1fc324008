//go:build !unix

package arena

import "os/exec"

func ownGroup(*exec.Cmd) {}

func interrupt(c *exec.Cmd) { _ = c.Process.Kill() } // it may have ended

func kill(c *exec.Cmd) { _ = c.Process.Kill() } // it may have ended
