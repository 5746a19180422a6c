// Generate checks all rules and writes compiled.bin. It is run by go generate
// in traps/rules.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fettle/traps/rules"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	files, err := filepath.Glob("*/rule.yaml")
	if err != nil {
		return err
	}
	var all []rules.Compiled
	var bad []error // a rule somebody is still writing does not keep the others back
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		c, err := rules.Compile(filepath.Dir(f), b)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, c)
	}
	return errors.Join(append(bad, os.WriteFile("compiled.bin", []byte(rules.Pack(all)), 0o644))...)
}
