package accept

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"fettle/engine/trap"
	"fettle/internal/files"
	"fettle/internal/yamlfile"
)

const heading = `# Findings that were accepted: fettle check does not count them until they end or
# change. Made by fettle accept; may be edited, and kept in configuration management.
`

// parse reads entries and the line of each, 1-based.
func parse(file string, b []byte) ([]Entry, []int, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, nil, nil
	}
	f, err := yamlfile.Parse(file, b)
	if err != nil {
		return nil, nil, err
	}
	var docs []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.NullType {
			docs = append(docs, d.Body)
		}
	}
	if len(docs) == 0 {
		return nil, nil, nil // nothing but comments
	}
	seq, ok := docs[0].(*ast.SequenceNode)
	if !ok || len(docs) > 1 {
		p := docs[len(docs)-1].GetToken().Position
		return nil, nil, fmt.Errorf("%s:%d:%d: must be one list of entries, each beginning with \"- trap: \"", file, p.Line, p.Column)
	}
	var entries []Entry
	var lines []int
	seen := map[string]int{}
	for _, v := range seq.Values {
		p := v.GetToken().Position
		if m, ok := v.(*ast.MappingNode); ok && len(m.Values) > 0 {
			p = m.Values[0].Key.GetToken().Position
		}
		var e Entry
		if err := yamlfile.Guard(func() error { return yaml.NodeToValue(v, &e, yaml.Strict()) }); err != nil {
			return nil, nil, yamlfile.Located(file, err)
		}
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d:%d: %s", file, p.Line, p.Column, fmt.Sprintf(format, args...))
		}
		if err := e.valid(); err != nil {
			return nil, nil, bad("%v", err)
		}
		if line, twice := seen[e.ID()]; twice {
			return nil, nil, bad("%s is accepted already, in line %d", e.ID(), line)
		}
		seen[e.ID()] = p.Line
		entries, lines = append(entries, e), append(lines, p.Line)
	}
	return entries, lines, nil
}

func (e *Entry) valid() error {
	switch {
	case e.Trap == "":
		return errors.New("an entry needs trap: the name of a trap")
	case strings.TrimSpace(e.Reason) == "":
		return errors.New("an entry needs reason: why this finding is accepted")
	}
	if _, ok := trap.ParseSeverity(e.Severity); e.Severity != "" && !ok {
		return fmt.Errorf("severity %q is not notice, warning or critical", e.Severity)
	}
	if _, err := time.Parse(time.DateOnly, e.Until); e.Until != "" && err != nil {
		return fmt.Errorf("until %q is not a date like 2027-01-31", e.Until)
	}
	return nil
}

// Add writes e into file, in place of what was accepted of the same finding.
// Whatever else is in the file stays, comments too.
func Add(file string, e Entry) error {
	if err := e.valid(); err != nil {
		return err
	}
	return edit(file, func(b []byte, old []Entry, lines []int) ([]byte, []Entry, error) {
		for i := range old {
			if old[i].ID() == e.ID() {
				b, old = cut(b, lines, i), append(old[:i:i], old[i+1:]...)
				break
			}
		}
		text, err := yaml.Marshal([]Entry{e})
		if err != nil {
			return nil, nil, err
		}
		if len(bytes.TrimSpace(b)) == 0 {
			b = []byte(heading)
		}
		if !bytes.HasSuffix(b, []byte("\n")) {
			b = append(b, '\n')
		}
		if at := indentOf(b); at != "" {
			text = []byte(at + strings.TrimRight(strings.ReplaceAll(string(text), "\n", "\n"+at), " "))
		}
		return append(b, text...), append(old, e), nil
	})
}

// ErrNotAccepted: there is no such entry to remove.
var ErrNotAccepted = errors.New("is not among the accepted findings")

// Remove takes a finding's entry out of file.
func Remove(file, id string) error {
	return edit(file, func(b []byte, old []Entry, lines []int) ([]byte, []Entry, error) {
		for i := range old {
			if old[i].ID() == id {
				return cut(b, lines, i), append(old[:i:i], old[i+1:]...), nil
			}
		}
		return nil, nil, fmt.Errorf("%s %w of %s", id, ErrNotAccepted, file)
	})
}

// edit changes the text of a file, then reads the result back before it is
// written: a layout that the text edits do not understand is never damaged.
func edit(file string, change func([]byte, []Entry, []int) ([]byte, []Entry, error)) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	b, err := read(file)
	if err != nil {
		return err
	}
	old, lines, err := parse(file, b)
	if err != nil {
		return err
	}
	text, want, err := change(bytes.Clone(b), old, lines)
	if err != nil {
		return err
	}
	if got, _, err := parse(file, text); err != nil || !(len(got) == 0 && len(want) == 0) && !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: its layout is not one that fettle can edit without loss; edit it by hand", file)
	}
	if err := files.Make(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := files.WriteFile(file, text, modeOf(file, 0o644)); err != nil {
		return fmt.Errorf("writing accepted findings: %w", err)
	}
	return nil
}

// modeOf is the mode that a file has, or else a new one's.
func modeOf(file string, usual fs.FileMode) fs.FileMode {
	if st, err := os.Stat(file); err == nil {
		return st.Mode().Perm()
	}
	return usual
}

// cut takes the i-th entry's lines out. Comments and blank lines that stand
// before the next entry belong to that one and stay.
func cut(b []byte, lines []int, i int) []byte {
	all := bytes.SplitAfter(b, []byte("\n"))
	from, to := lines[i]-1, len(all)
	if i+1 < len(lines) {
		to = lines[i+1] - 1
	}
	for to > from+1 {
		l := bytes.TrimSpace(all[to-1])
		if len(l) > 0 && l[0] != '#' {
			break
		}
		to--
	}
	return bytes.Join(append(all[:from:from], all[to:]...), nil)
}

// indentOf is the white space before the entries of a list.
func indentOf(b []byte) string {
	for line := range bytes.Lines(b) {
		if t := bytes.TrimLeft(line, " "); bytes.HasPrefix(t, []byte("- ")) {
			return string(line[:len(line)-len(t)])
		}
	}
	return ""
}
