package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/go/packages"
)

// program is a package with all its mistakes, in the binaries of the tests that may notice them. Each mistake has a number;
// the binaries, and the processes that they start of themselves, read from a file which one is theirs.
type program struct {
	mutants []*mutant
	suites  []*suite
	dir     string
	state   *os.File
	spent   time.Duration // of CPU time, by compiler and tests
}

// suite are those tests of a package whose names match a regular expression, or the parts of one test, a file for each.
type suite struct {
	folder, names string
	parts         string // the files, as filepath.Glob takes them
	binary        string
	tests         []*test
}

type test struct {
	name string        // of a part: its file's, without the suffix
	met  []uint32      // which mistakes it comes to; 0: not
	took time.Duration // without a mistake
}

// Tests that take five times as long as without the mistake, and this, hang. They wait less
// long themselves for what does not come (package means): they fail before that, with a message.
const (
	leastPatience = 15 * time.Second
	itsPatience   = 5 * time.Second // and twice as long as the slowest of the tests takes without it
)

//go:embed switch.go.txt
var switches string

// build compiles the package's own tests, and further ones.
func build(ctx context.Context, pkg string, further ...suite) (*program, error) {
	of, err := load(ctx, pkg)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fettle-mutants-")
	if err != nil {
		return nil, err
	}
	p := &program{dir: dir}
	if err := p.fill(ctx, of, pkg, further); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *program) fill(ctx context.Context, of *packages.Package, pkg string, further []suite) error {
	if err := os.Chmod(p.dir, 0o755); err != nil { // tests run as other users, too
		return err
	}
	overlay, err := p.write(of, pkg)
	if err != nil || len(p.mutants) == 0 {
		return err
	}
	for _, s := range append([]suite{{folder: pkg, names: "."}}, further...) {
		if err := p.compile(ctx, overlay, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) remove() {
	p.state.Close()
	os.RemoveAll(p.dir)
}

// load reads a package with its types.
func load(ctx context.Context, pkg string) (*packages.Package, error) {
	all, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo}, "./"+pkg)
	if err != nil {
		return nil, err
	}
	if len(all[0].Errors) > 0 {
		return nil, all[0].Errors[0]
	}
	return all[0], nil
}

// write writes the package with its mistakes, and returns the file that puts it in the place of the original.
func (p *program) write(of *packages.Package, pkg string) (overlay string, err error) {
	prefix, err := unused(of.Dir, "mistake")
	if err != nil {
		return "", err
	}
	var copies map[string][]byte
	if p.mutants, copies, err = switched(of, pkg, prefix); err != nil {
		return "", err
	}
	state := filepath.Join(p.dir, "state")
	if p.state, err = os.OpenFile(state, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return "", err
	}
	if err := errors.Join(p.state.Chmod(0o666), p.set(0)); err != nil {
		return "", err
	}
	copies[filepath.Join(of.Dir, prefix+".go")] = []byte(strings.NewReplacer("PREFIX", prefix, "NAME", of.Name, "FILE", state,
		"COUNT", fmt.Sprint(1+len(p.mutants))).Replace(switches))
	replace := map[string]string{}
	for name, src := range copies {
		replace[name] = filepath.Join(p.dir, filepath.Base(name))
		if err := os.WriteFile(replace[name], src, 0o600); err != nil {
			return "", err
		}
	}
	overlay = filepath.Join(p.dir, "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, b, 0o600)
}

// unused is a word that no Go in a folder contains, nor a name of its files: what begins with it is new there.
func unused(dir, word string) (string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		for bytes.Contains(append(b, name...), []byte(word)) {
			word += "_"
		}
	}
	return word, nil
}

// compile makes the binary of some tests, if there are any.
func (p *program) compile(ctx context.Context, overlay string, s suite) error {
	s.binary = filepath.Join(p.dir, fmt.Sprintf("%d.test", len(p.suites)))
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", s.binary, "./"+s.folder)
	out, err := p.combined(cmd)
	if err != nil {
		return fmt.Errorf("%s with its mistakes: %w: %s", s.folder, err, lastLines(string(out), 20))
	}
	if _, err := os.Stat(s.binary); err == nil {
		p.suites = append(p.suites, &s)
	}
	return nil
}

// set switches a mistake on, or none, and forgets which were met.
func (p *program) set(n int) error {
	words := make([]uint32, 1+len(p.mutants))
	words[0] = uint32(n)
	b, err := binary.Append(nil, binary.NativeEndian, words)
	if err != nil {
		return err
	}
	_, err = p.state.WriteAt(b, 0)
	return err
}

// asItIs runs each test without a mistake: it must pass in time, and tells what it comes to.
func (p *program) asItIs(ctx context.Context, limit time.Duration) error {
	for _, s := range p.suites {
		names, err := p.list(ctx, s, limit)
		if err != nil {
			return err
		}
		for _, name := range names {
			one, start := &test{name: name, met: make([]uint32, 1+len(p.mutants))}, time.Now()
			switch how, out := p.with(ctx, s, 0, limit, one); how {
			case noticed:
				return fmt.Errorf("%s of %s fails as it is: %s", name, s.folder, lastLines(out, 10))
			case hung:
				return fmt.Errorf("%s of %s takes more than %s as it is", name, s.folder, limit)
			}
			one.took = time.Since(start)
			b := make([]byte, 4*len(one.met))
			if _, err := p.state.ReadAt(b, 0); err != nil {
				return err
			}
			if _, err := binary.Decode(b, binary.NativeEndian, one.met); err != nil {
				return err
			}
			s.tests = append(s.tests, one)
		}
	}
	return nil
}

// list names a suite's tests.
func (p *program) list(ctx context.Context, s *suite, limit time.Duration) (names []string, err error) {
	if s.parts != "" {
		all, err := filepath.Glob(filepath.Join(s.folder, s.parts))
		for _, name := range all {
			names = append(names, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
		}
		return names, err
	}
	how, said := p.run(ctx, s, limit, nil, "-test.list", s.names)
	if how != missed {
		return nil, fmt.Errorf("the tests of %s do not start: %s", s.folder, lastLines(said, 10))
	}
	for name := range strings.FieldsSeq(said) {
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example") {
			names = append(names, name)
		}
	}
	return names, nil
}

// hung is a mistake with which the tests do not end: they should fail with a message.
const hung = "HANGS"

// try runs the tests that come to a mistake with it, until some notice it.
func (p *program) try(ctx context.Context, m *mutant, limit time.Duration) string {
	for _, s := range p.suites {
		patience := leastPatience
		var met []*test
		for _, one := range s.tests {
			if one.met[m.n] != 0 {
				met, patience = append(met, one), patience+5*one.took
			}
		}
		if met == nil {
			continue
		}
		if how, _ := p.with(ctx, s, m.n, min(limit, patience), met...); how != missed {
			return how
		}
	}
	return missed
}

// with runs some tests with a mistake.
func (p *program) with(ctx context.Context, s *suite, n int, limit time.Duration, tests ...*test) (how, said string) {
	if err := p.set(n); err != nil {
		return stale, err.Error()
	}
	var names []string
	slowest := time.Duration(0)
	for _, one := range tests {
		names, slowest = append(names, one.name), max(slowest, one.took)
	}
	match := "^(" + strings.Join(names, "|") + ")$"
	if s.parts != "" {
		match = s.names + "/" + match
	}
	var env []string
	if n > 0 {
		env = []string{fmt.Sprintf("FETTLE_PATIENCE=%s", itsPatience+2*slowest)}
	}
	return p.run(ctx, s, limit, env, "-test.short", "-test.failfast", "-test.run", match,
		"-test.paniconexit0", "-test.timeout", "10m") // as by go test
}

// run runs the binary of some tests. All that it started ends with it.
func (p *program) run(ctx context.Context, s *suite, limit time.Duration, env []string, args ...string) (how, said string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = end, time.Second
	out, err := p.combined(cmd)
	if cmd.Process != nil {
		end()
	}
	switch {
	case ctx.Err() != nil:
		return hung, string(out)
	case err != nil:
		return noticed, string(out) + err.Error()
	}
	return missed, string(out)
}

// combined runs a program, and counts its CPU time.
func (p *program) combined(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.CombinedOutput()
	if st := cmd.ProcessState; st != nil {
		p.spent += st.UserTime() + st.SystemTime()
	}
	return out, err
}
