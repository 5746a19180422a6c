// Generate checks all rules and writes package compiled. It is run by go
// generate in traps/rules.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the Go files of the rules in a folder to its folder compiled.
func run(dir string) error {
	files, err := generate(dir)
	if files == nil {
		return err
	}
	old, gerr := filepath.Glob(filepath.Join(dir, "compiled", "*.go"))
	if gerr != nil {
		return gerr
	}
	for _, name := range old {
		if base := filepath.Base(name); base != "compiled.go" && files[base] == nil {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, content := range files {
		if werr := os.WriteFile(filepath.Join(dir, "compiled", name), content, 0o644); werr != nil {
			return werr
		}
	}
	return err
}

// generate makes the files, by name. A rule that somebody is still writing does
// not keep the others back: its mistakes are the error.
func generate(dir string) (map[string][]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "rule.yaml"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var ids []string
	var bad []error
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		id := filepath.Base(filepath.Dir(name))
		src, err := source(id, b)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		files[id+".go"] = src
		ids = append(ids, id)
	}
	if files["list.go"], err = list(ids); err != nil {
		return nil, err
	}
	return files, errors.Join(bad...)
}
