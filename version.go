package duplex

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
)

var (
	semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	releaseHeading  = regexp.MustCompile(`(?m)^## (\d+)\.(\d+)\.(\d+)\b`)
)

// SemanticVersion returns the version of a build in the form of semver.org, as the published documents
// have it: generators and registries reject another one. A build that has no version, such as "dev", has
// one between the last release and the next.
func SemanticVersion(build string) string {
	if v := strings.TrimPrefix(build, "v"); semanticVersion.MatchString(v) {
		return v
	}
	var revision string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return sourceVersion(Changelog, revision)
}

// sourceVersion returns a pre-release of the patch after the last release of a changelog, as the go command
// does, with the revision that it is built from; "" if that is unknown.
func sourceVersion(changelog []byte, revision string) string {
	v := "0.0.0-dev"
	if last := releaseHeading.FindSubmatch(changelog); last != nil {
		patch, err := strconv.Atoi(string(last[3]))
		if err != nil {
			panic(err) // the program's own changelog
		}
		v = fmt.Sprintf("%s.%s.%d-dev", last[1], last[2], patch+1)
	}
	if revision != "" {
		v += "+" + revision[:min(len(revision), 12)]
	}
	return v
}
