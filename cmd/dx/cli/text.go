package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// ShellWord quotes text for a POSIX shell where that is necessary.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:@%,", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// CommandName returns the command that started this program, to type again.
func CommandName() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/dx"
	}
	return ShellWord(os.Args[0])
}

// InstallCommand returns CommandName for a command that puts the program into a host's config. A
// program of go run is deleted when it ends, so it is built first.
func InstallCommand() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go build -o bin/dx ./cmd/dx && bin/dx"
	}
	return CommandName()
}

// DevFileArgument returns the flag with which other commands find the dev file, "" if they find it
// without.
func DevFileArgument(devFile string) string {
	if path := RelativePath(devFile); path != DevFileDefault {
		return " --dev-file " + ShellWord(path)
	}
	return ""
}

// NewKeyCommand returns the command that makes another key of the agent NAME, for a command that has used a profile or,
// if it is "", the dev file. It reports whether there is a dev file, without which the command needs a portal's address.
func NewKeyCommand(devFile, profile string) (command string, ok bool) {
	if path, err := ProfilePath(devFile, profile); err == nil && profile != "" {
		devFile = cmp.Or(devFileOf(path), devFile)
	}
	_, err := os.Stat(devFile)
	return CommandName() + " agent key NAME" + DevFileArgument(devFile), err == nil
}

// RelativePath returns path relative to the working directory if it is inside it.
func RelativePath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// SecretVariable returns a variable that holds a secret, without white space around it, as flags do.
func SecretVariable(name string) string { return strings.TrimSpace(os.Getenv(name)) }
