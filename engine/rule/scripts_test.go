package rule

import (
	"fmt"
	"strings"
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

// TestScriptsOfSomeSize: what is larger than a script is not even read.
func TestScriptsOfSomeSize(t *testing.T) {
	line := "last\n" + strings.Repeat("#", 1<<20-len("last\n"))
	for _, c := range []struct{ more, want int }{{0, 1}, {1, 0}} {
		h := hosttest.New(t, fmt.Sprintf("-- root/bin/a --\n%s%s\n", line[:len(line)-1], strings.Repeat("#", c.more)))
		r := &reading{ctx: t.Context(), h: h, rule: &Rule{Shipped: true}}
		got, err := readRegex(r, &Fact{Kind: "regex", Args: []string{"^last$"}, Opts: map[string][]string{"in": {"/bin/*"}, "scripts": {"true"}}})
		if err != nil || got.Count != c.want {
			t.Errorf("1 MiB and %d bytes: %+v, %v", c.more, got, err)
		}
	}
}
