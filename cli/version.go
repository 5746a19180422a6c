package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"fettle/host/confine"
)

// version is set by the build (make), with -ldflags -X.
var version string

// Version is fettle's version: what make set, the module's, or "devel".
func Version() string {
	if version != "" {
		return version
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		return bi.Main.Version
	}
	return "devel"
}

// buildFacts is what --version prints.
func buildFacts() string {
	commit, date, modified := "", "", ""
	if bi, ok := debug.ReadBuildInfo(); ok {
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
	landlock := "none: checks are held back by a system call filter alone"
	if abi := confine.ABI(); abi > 0 {
		landlock = fmt.Sprintf("ABI %d", abi)
	}
	if runtime.GOOS != "linux" {
		landlock = "none: only captures are read here"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "fettle %s\n", Version())
	if commit != "" { // Go records it where it builds in a checkout
		fmt.Fprintf(&b, "commit    %s of %s%s\n", commit, date, modified)
	}
	fmt.Fprintf(&b, "built by  %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "Landlock  %s\n", landlock)
	return b.String()
}
