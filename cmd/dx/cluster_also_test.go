package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/alecthomas/kong"

	"duplex/cmd/dx/operator"
)

// TestAlsoIsOneFolder checks that a folder of --also may have a comma in its name.
func TestAlsoIsOneFolder(t *testing.T) {
	want := []string{filepath.Join(t.TempDir(), "b,c"), filepath.Join(t.TempDir(), "d")}
	args := []string{"recover", "--data", t.TempDir()}
	for _, dir := range want {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--also", dir)
	}
	var c operator.Cluster
	parser, err := kong.New(&c, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil || !slices.Equal(c.Recover.Also, want) {
		t.Errorf("%q, %v", c.Recover.Also, err)
	}
}
