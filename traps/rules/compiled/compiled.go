// Package compiled holds what the rules of package rules come to when they are
// checked: Go made by go generate ./traps/rules, a file a rule, and list.go.
package compiled

import (
	"fettle/engine/rule"
	"fettle/engine/trap"
)

// Rule is one rule.
type Rule struct {
	Lore   trap.Lore
	Units  []string // that it asks about
	Remedy bool     // it has one
	Make   func() *rule.Rule
}
