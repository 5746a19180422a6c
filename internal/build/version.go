// Package build says which fettle this is.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// version is set by the build (make), with -ldflags -X.
var version string

// recorded is what Go wrote into the program; tests have another.
var recorded = debug.ReadBuildInfo

// Version is fettle's version: what make set, the module's, or "devel".
func Version() string {
	if version != "" {
		return version
	}
	if bi, ok := recorded(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		return bi.Main.Version
	}
	return "devel"
}

// Facts is what fettle version prints.
func Facts() string {
	commit, date, modified := "", "", ""
	if bi, ok := recorded(); ok {
		for _, s := range bi.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.time":
				date = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", with changes"
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "fettle %s\n", Version())
	if commit != "" { // Go records it where it builds in a checkout
		fmt.Fprintf(&b, "commit    %s of %s%s\n", commit, date, modified)
	}
	fmt.Fprintf(&b, "built by  %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return b.String()
}

// Date is the day the source was committed: the same pages from the same
// source. Empty when the build does not say.
func Date() string {
	bi, ok := recorded()
	if !ok {
		return ""
	}
	for _, s := range bi.Settings {
		if s.Key == "vcs.time" {
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				return t.Format(time.DateOnly)
			}
		}
	}
	return ""
}
