// Package rules holds the traps that are written as rules: a folder each, with
// rule.yaml and samples (docs/rules.md). They need no line of Go.
//
// What goes on a host is rules.book: all rules, checked and in the form in which
// they are kept (rule.Frozen), so that running them costs neither the YAML parser
// nor a check of types, and one that does not apply is hardly read. After a change:
//
//	go generate ./traps/rules
//
// A test tells when that was forgotten.
package rules

import (
	_ "embed"
	"fmt"

	"fettle/engine/rule"
	"fettle/engine/trap"
)

//go:generate go run ./generate

//go:embed rules.book
var book string

// All lists the traps of all rules, by name.
func All() []*trap.Trap {
	rules, err := rule.OpenBook(book, true)
	if err != nil {
		panic(fmt.Sprintf("rules.book: %v: go generate ./traps/rules", err)) // a test tells before anybody else sees it
	}
	out := make([]*trap.Trap, len(rules))
	for i, r := range rules {
		out[i] = r.Trap()
	}
	return out
}
