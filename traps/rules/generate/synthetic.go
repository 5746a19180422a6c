package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fettle/engine/rule"
)

// synthetic makes n rules in dir, to measure what many cost: copies of those rules in from
// that an admin could have written, each with its samples and an id of its own.
func synthetic(dir, from string, n int) error {
	names, _ := filepath.Glob(filepath.Join(from, "*", "rule.yaml"))
	var able []string
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if r, ms := rule.Parse(name, b, false); len(ms) == 0 && passes(r, filepath.Dir(name)) {
			able = append(able, filepath.Dir(name))
		}
	}
	if len(able) == 0 {
		return fmt.Errorf("no rules in %s: run this in traps/rules", from)
	}
	for i := range n {
		old := filepath.Base(able[i%len(able)])
		id := fmt.Sprintf("synthetic-%d-%s", i, old)
		to := filepath.Join(dir, id)
		if err := os.CopyFS(to, os.DirFS(able[i%len(able)])); err != nil {
			return err
		}
		if err := rename(to, old, id); err != nil {
			return err
		}
	}
	return nil
}

// passes tells whether a rule does on its samples without what only fettle's own may.
func passes(r *rule.Rule, dir string) bool {
	results, err := r.Test(context.Background(), os.DirFS(dir))
	return err == nil && !slices.ContainsFunc(results, func(res rule.Result) bool { return !res.Passed() })
}

// rename gives a copied rule its id, and its samples the names of files that plans make of it.
func rename(dir, old, id string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	change := strings.NewReplacer("id: "+old+"\n", "id: "+id+"\n", "90-fettle-"+old+".", "90-fettle-"+id+".")
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(change.Replace(string(b))), 0o644); err != nil {
			return err
		}
	}
	return nil
}
