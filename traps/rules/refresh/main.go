// Refresh confirms what ages in the rules: ends of life from distro-info-data and endoflife.date, versions with
// a fix from the changelogs of packages, and the versions of each release from its Packages files. It is run by
// make refresh, which says what changed, what could not be had, what was not refreshed and why, and which rows nobody
// has confirmed for a year.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle/engine/rule"
	"fettle/internal/units"
)

// out is where it says what it does.
var out io.Writer = os.Stdout

func main() {
	if err := refresh(time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func refresh(now time.Time) error {
	rules, _ := filepath.Glob("traps/rules/*/rule.yaml")
	if len(rules) == 0 {
		return errors.New("no rules in traps/rules: run this in the root of the sources")
	}
	dir, err := os.MkdirTemp("", "fettle-refresh-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a := &apt{dir: dir}
	ends := &ends{apt: a}
	logs := &changelogs{apt: a}
	cycles := &cycles{dir: dir}
	for _, file := range rules {
		if err := edit(file, func(text string) string {
			return cycles.confirm(logs.confirm(ends.confirm(text, now), now), now)
		}); err != nil {
			return err
		}
	}
	if err := edit("host/fact/release/packages.txt", func(text string) string { return a.packages(text, now) }); err != nil {
		return err
	}
	return left(rules, now, func(source string) string {
		switch {
		case source == distroInfo:
			return "it could not be had, or lacks them"
		case cycles.err != nil:
			return endOfLife + " could not be had"
		case source == endOfLife:
			return "it has not changed since"
		}
		return "no program reads it; " + endOfLife + ", of " + cycles.day + ", is not newer, lacks them or says otherwise"
	})
}

// edit changes a file, if that changes it.
func edit(file string, change func(string) string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if text := change(string(b)); text != string(b) {
		fmt.Fprintln(out, "written:", file)
		return os.WriteFile(file, []byte(text), 0o644)
	}
	return nil
}

// left says which rows were not confirmed today, by table and source, and why; and lists those that nobody has confirmed
// for a year.
func left(rules []string, now time.Time, why func(source string) string) error {
	for _, file := range rules {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r, mistakes := rule.Parse(file, b, true)
		if r == nil {
			return mistakes
		}
		for _, t := range r.Tables {
			for _, said := range notConfirmed(t.Rows, now, why) {
				fmt.Fprintf(out, "not refreshed: %s, %s: %s\n", r.ID, t.Name, said)
			}
		}
		for _, row := range r.Unconfirmed(now) {
			fmt.Fprintf(out, "not confirmed for a year: %s: %s\n", r.ID, row)
		}
	}
	return nil
}

// notConfirmed counts rows of before today, by why they are.
func notConfirmed(rows []rule.Row, now time.Time, why func(source string) string) (said []string) {
	n, sources := map[string]int{}, map[string][]string{}
	for _, row := range rows {
		if row.Confirmed < now.Format(time.DateOnly) {
			because := why(row.Source)
			n[because]++
			sources[because] = append(sources[because], row.Source)
		}
	}
	for _, because := range slices.Sorted(maps.Keys(n)) {
		slices.Sort(sources[because])
		said = append(said, fmt.Sprintf("%s of %s: %s", units.Count(n[because], "row", "rows"),
			strings.Join(slices.Compact(sources[because]), ", "), because))
	}
	return said
}

// missing says what could not be had.
func missing(what string, err error) { fmt.Fprintf(out, "could not be had: %s: %v\n", what, err) }
