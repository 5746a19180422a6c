package pack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle/engine/rule"
	"fettle/internal/files"
	"fettle/internal/sorted"
	"fettle/internal/yamlfile"
)

// ManifestFile is a pack's manifest, in the folder that it is made of.
const ManifestFile = "pack.yaml"

// Build makes a pack of a folder: pack.yaml, and a folder a rule with its samples. Every
// rule is checked and run over its samples: one that fails is an error, and there is no
// pack. sign signs the text.
func Build(ctx context.Context, dir string, sign func(text []byte) (signature []byte, err error)) (*Pack, []byte, error) {
	p, err := gather(dir)
	if err != nil {
		return nil, nil, err
	}
	if now := time.Now(); p.Expired(now) {
		return nil, nil, fmt.Errorf("%s: expires: no host installs a pack on %s or later, and today is %s; write a later day",
			ManifestFile, p.Expires, now.UTC().Format(time.DateOnly))
	}
	rules, err := p.Rules()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rules {
		if err := try(ctx, r, os.DirFS(filepath.Join(dir, r.ID))); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.ID, err)
		}
	}
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return nil, nil, err
	}
	sig, err := sign(text)
	if err != nil {
		return nil, nil, err
	}
	b := slices.Concat([]byte(magic), bytes.TrimSpace(sig), []byte("\n"), text)
	if len(b) > Limit {
		return nil, nil, fmt.Errorf("%d bytes: larger than a pack may be (%d MiB)", len(b), Limit>>20)
	}
	return p, b, nil
}

// gather reads the folder, without hidden files and editors' backups. Links are not
// followed: what they lead to is not what whoever reads the folder sees.
func gather(dir string) (*Pack, error) {
	manifest := filepath.Join(dir, ManifestFile)
	b, err := files.ReadAtMost(manifest, 64<<10)
	if err != nil {
		return nil, err
	}
	p := &Pack{Language: Language}
	if err := yamlfile.Decode(manifest, b, &p.Manifest); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch hidden := name != dir && (e.Name()[0] == '.' || strings.HasSuffix(name, "~")); {
		case err == nil && hidden && e.IsDir():
			return fs.SkipDir
		case err != nil || e.IsDir() || hidden:
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == ManifestFile || !strings.Contains(rel, "/") {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s: not a regular file", name)
		}
		b, err := files.ReadAtMost(name, Limit)
		if err != nil {
			return err
		}
		p.Files = append(p.Files, File{filepath.ToSlash(rel), string(b)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	sorted.By(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return p, p.valid()
}

// try runs a rule over its samples.
func try(ctx context.Context, r *rule.Rule, samples fs.FS) error {
	results, err := r.Test(ctx, samples)
	if err != nil {
		return err
	}
	var bad []error
	for _, res := range results {
		if !res.Passed() {
			bad = append(bad, fmt.Errorf("sample %s failed: fettle lore test tells what it says", path.Base(res.Name)))
		}
	}
	return errors.Join(bad...)
}
