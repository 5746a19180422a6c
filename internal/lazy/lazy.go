// Package lazy makes what most runs of fettle never need when it is first
// used: before main every one of two hundred traps would pay for it.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles expr, which must be valid, at its first use.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
