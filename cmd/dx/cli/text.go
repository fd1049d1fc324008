package cli

import (
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
