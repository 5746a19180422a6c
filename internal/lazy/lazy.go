// Package lazy defers to first use what most runs of fettle never need: made
// before main, it would cost every run the time of two hundred traps.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles expr, which must be valid, at its first use.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
