// Command pack checks the binaries of a release without running them:
//
//	pack COMMIT dx-OS-ARCH...
//
// The header of each file names the operating system and the processor of its name, it needs no
// shared library on Linux, and go's own record has the commit and the settings of a release.
package main

import (
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "pack COMMIT FILE...")
		os.Exit(2)
	}
	for _, path := range os.Args[2:] {
		if err := check(path, os.Args[1]); err != nil {
			fmt.Fprintf(os.Stderr, "pack: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

// check returns an error unless the file at path is a binary of a release, built at commit.
func check(path, commit string) error {
	system, arch, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "dx-"), ".exe"), "-")
	machine, err := header(path, system)
	if err != nil {
		return err
	}
	if want := map[string]string{"amd64": "x86-64", "arm64": "arm64"}[arch]; machine != want {
		return fmt.Errorf("the header says %s", machine)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	has := map[string]string{}
	for _, s := range info.Settings {
		has[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": system, "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.revision": commit} {
		if has[key] != want {
			return fmt.Errorf("built with %s=%q, not %q", key, has[key], want)
		}
	}
	return nil
}

// header reads a binary in the format of an operating system and returns its processor.
func header(path, system string) (string, error) {
	switch system {
	case "linux":
		f, err := elf.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
				return "", errors.New("not static")
			}
		}
		return map[elf.Machine]string{elf.EM_X86_64: "x86-64", elf.EM_AARCH64: "arm64"}[f.Machine], nil
	case "darwin":
		f, err := macho.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return map[macho.Cpu]string{macho.CpuAmd64: "x86-64", macho.CpuArm64: "arm64"}[f.Cpu], nil
	case "windows":
		f, err := pe.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "x86-64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[f.Machine], nil
	}
	return "", fmt.Errorf("the name has no operating system")
}
