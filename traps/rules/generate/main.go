// Generate checks all rules and writes rules.book. It is run by go generate in
// traps/rules. With arguments it writes rules to measure with:
//
//	go run ./generate synthetic DIR 200
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"fettle/engine/rule"
)

func main() { os.Exit(run(os.Args[1:], ".", os.Stderr)) }

// run does what the arguments say with the rules in a folder.
func run(args []string, dir string, errs io.Writer) (status int) {
	if len(args) == 3 && args[0] == "synthetic" {
		n, err := strconv.Atoi(args[2])
		if err == nil {
			err = synthetic(args[1], dir, n)
		}
		if err != nil {
			fmt.Fprintln(errs, err)
			return 1
		}
		return 0
	}
	book, err := generate(dir)
	if book != nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "rules.book"), book, 0o644))
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// generate makes the book of the rules in a folder. A rule that somebody is still
// writing does not keep the others back: its mistakes are the error.
func generate(dir string) ([]byte, error) {
	names, _ := filepath.Glob(filepath.Join(dir, "*", "rule.yaml"))
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
