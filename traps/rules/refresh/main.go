// Refresh confirms what ages in the rules, from sources that apt can fetch: ends of life from
// distro-info-data, versions with a fix from the changelogs of packages, and the versions of
// each release from its Packages files. It is run by make refresh, which says what changed, what
// could not be had, and which rows nobody has confirmed for a year.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fettle/engine/rule"
)

func main() {
	if err := refresh(time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func refresh(now time.Time) error {
	rules, err := filepath.Glob("traps/rules/*/rule.yaml")
	if err != nil || len(rules) == 0 {
		return fmt.Errorf("no rules in traps/rules: run this in the root of the sources: %w", err)
	}
	dir, err := os.MkdirTemp("", "fettle-refresh-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a := &apt{dir: dir}
	ends := &ends{apt: a}
	logs := &changelogs{apt: a}
	for _, file := range rules {
		if err := edit(file, func(text string) string { return logs.confirm(ends.confirm(text, now), now) }); err != nil {
			return err
		}
	}
	if err := edit("host/fact/release/packages.txt", func(text string) string { return a.packages(text, now) }); err != nil {
		return err
	}
	return old(rules, now)
}

// edit changes a file, if that changes it.
func edit(file string, change func(string) string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if text := change(string(b)); text != string(b) {
		fmt.Println("written:", file)
		return os.WriteFile(file, []byte(text), 0o644)
	}
	return nil
}

// old lists the rows that nobody has confirmed for a year.
func old(rules []string, now time.Time) error {
	for _, file := range rules {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r, mistakes := rule.Parse(file, b, true)
		if r == nil {
			return mistakes
		}
		for _, row := range r.Unconfirmed(now) {
			fmt.Printf("not confirmed for a year: %s: %s\n", r.ID, row)
		}
	}
	return nil
}

// missing says what could not be had.
func missing(what string, err error) { fmt.Printf("could not be had: %s: %v\n", what, err) }
