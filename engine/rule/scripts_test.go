package rule

import (
	"testing"

	"fettle/host/hosttest"
)

// TestScripts: with scripts, a program is passed over; without, it is read as text.
func TestScripts(t *testing.T) {
	h := hosttest.New(t, "-- root/bin/a --\n#!/bin/sh\nlast\n-- root/bin/b --\nELF\x00\nlast\n")
	for _, c := range []struct {
		opts map[string][]string
		want int
	}{{nil, 2}, {map[string][]string{"scripts": {"true"}}, 1}} {
		opts := map[string][]string{"in": {"/bin/*"}}
		for k, v := range c.opts {
			opts[k] = v
		}
		r := &reading{ctx: t.Context(), h: h, rule: &Rule{Shipped: true}}
		got, err := readRegex(r, &Fact{Kind: "regex", Args: []string{"^last$"}, Opts: opts})
		if err != nil || got.Count != c.want {
			t.Errorf("%v: %+v, %v", c.opts, got, err)
		}
	}
}
