// Package newtrap writes a commented template for a trap of fettle's own: lore,
// check, plan, golden hosts and proof, all of which pass unchanged.
package newtrap

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed skeleton
var skeleton embed.FS

// names are what the templates need.
type names struct{ ID, Package string }

var idForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Write makes the folder traps/NAME in a checkout, and adds the trap to the two
// lists. It returns the files it wrote and changed, relative to the checkout.
func Write(checkout, id string) ([]string, error) {
	if !idForm.MatchString(id) || len(id) > 60 {
		return nil, fmt.Errorf("%q: the id of a trap is lower-case words joined by dashes, as in bridge-mtu", id)
	}
	n := names{ID: id, Package: strings.ReplaceAll(id, "-", "")}
	if err := isCheckout(checkout); err != nil {
		return nil, err
	}
	dir := filepath.Join("traps", n.Package)
	if err := os.Mkdir(filepath.Join(checkout, dir), 0o755); err != nil {
		return nil, fmt.Errorf("making the trap's folder: %w", err)
	}
	files, err := n.fill(checkout, dir)
	if err != nil {
		return files, err
	}
	for _, l := range n.lists() {
		if err := l.add(checkout); err != nil {
			return files, err
		}
		files = append(files, l.file)
	}
	return files, nil
}

// isCheckout wants the top folder of fettle's sources.
func isCheckout(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.HasPrefix(b, []byte("module fettle\n")) {
		return fmt.Errorf(
			"%s is not fettle's source folder; clone the repository and run this there (a rule needs no source: fettle lore new)",
			dir,
		)
	}
	return err
}

// fill writes the skeleton's files.
func (n names) fill(checkout, dir string) (files []string, err error) {
	err = fs.WalkDir(skeleton, "skeleton", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := n.render(p)
		if err != nil {
			return err
		}
		rel := filepath.Join(dir, strings.TrimSuffix(strings.TrimPrefix(p, "skeleton/"), ".tmpl"))
		full := filepath.Join(checkout, rel)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		files = append(files, rel)
		return os.WriteFile(full, text, 0o644)
	})
	return files, err
}

func (n names) render(p string) ([]byte, error) {
	t, err := template.New(path.Base(p)).Delims("<<", ">>").ParseFS(skeleton, p) // Go has {{ itself
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, n); err != nil {
		return nil, err
	}
	if strings.HasSuffix(p, ".go.tmpl") {
		return format.Source(b.Bytes())
	}
	return b.Bytes(), nil
}

// list is a Go file that lists all traps, or all proofs.
type list struct {
	file    string
	imports string // added before the block's end
	entry   string // added after the last line that begins with like
	like    string
}

func (n names) lists() []list {
	return []list{
		{filepath.Join("traps", "all.go"), fmt.Sprintf("\t\"fettle/traps/%s\"\n", n.Package),
			fmt.Sprintf("\t\t&%s.Trap,\n", n.Package), "\t\t&"},
		{
			filepath.Join("traps", "proofs", "all.go"),
			fmt.Sprintf("\t\"fettle/traps/%[1]s\"\n\t%[1]sproof \"fettle/traps/%[1]s/proof\"\n", n.Package),
			fmt.Sprintf("\t\t{&%[1]s.Trap, %[1]sproof.Scenarios, nil, %[1]sproof.Sabotages},\n", n.Package),
			"\t\t{&",
		},
	}
}

func (l list) add(checkout string) error {
	name := filepath.Join(checkout, l.file)
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("adding the trap to %s: %w", l.file, err)
	}
	text := string(b)
	end := strings.Index(text, "\n)\n")
	last := strings.LastIndex(text, "\n"+l.like)
	if end < 0 || last < end {
		return fmt.Errorf("adding the trap to %s: its list was not found; add by hand:\n%s%s", l.file, l.imports, l.entry)
	}
	last += 1 + strings.IndexByte(text[last+1:], '\n') + 1
	out, err := format.Source([]byte(text[:end+1] + l.imports + text[end+1:last] + l.entry + text[last:]))
	if err != nil {
		return fmt.Errorf("adding the trap to %s: %w", l.file, err)
	}
	return os.WriteFile(name, out, 0o644)
}
