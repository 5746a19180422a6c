// Generate checks all rules and writes rules.book. It is run by go generate in
// traps/rules. With arguments it writes rules to measure with:
//
//	go run ./generate synthetic DIR 200
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"fettle/engine/rule"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "synthetic" {
		n, err := strconv.Atoi(os.Args[3])
		if err == nil {
			err = synthetic(os.Args[2], ".", n)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	book, err := generate(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if book != nil {
		if werr := os.WriteFile("rules.book", book, 0o644); werr != nil {
			fmt.Fprintln(os.Stderr, werr)
			err = werr
		}
	}
	if err != nil {
		os.Exit(1)
	}
}

// generate makes the book of the rules in a folder. A rule that somebody is still
// writing does not keep the others back: its mistakes are the error.
func generate(dir string) ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "rule.yaml"))
	if err != nil {
		return nil, err
	}
	var rules []*rule.Frozen
	var bad []error
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r, mistakes := rule.Parse(filepath.Base(filepath.Dir(name))+"/rule.yaml", b, true)
		if len(mistakes) > 0 {
			bad = append(bad, mistakes)
			continue
		}
		rules = append(rules, r.Freeze())
	}
	return rule.Book(rules), errors.Join(bad...)
}
