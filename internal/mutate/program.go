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

// suite are tests of one package.
type suite struct {
	binary, folder string
	args           []string
	met            []uint32      // which mistakes they come to; 0: not
	took           time.Duration // without a mistake
}

// Who takes five times as long as without the mistake, and this, hangs.
const leastPatience = 10 * time.Second

//go:embed switch.go.txt
var switches string

// build compiles the package's own tests, and those in another one, as arguments of go test.
func build(ctx context.Context, pkg string, further []string) (*program, error) {
	loaded, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo}, "./"+pkg)
	if err != nil {
		return nil, err
	}
	of := loaded[0]
	if len(of.Errors) > 0 {
		return nil, of.Errors[0]
	}
	folder, err := filepath.Abs(pkg)
	if err != nil {
		return nil, err
	}
	p := &program{}
	if p.dir, err = os.MkdirTemp("", "fettle-mutants-"); err != nil {
		return nil, err
	}
	err = os.Chmod(p.dir, 0o755) // tests run as other users, too
	overlay := ""
	if err == nil {
		overlay, err = p.write(of, pkg, folder)
	}
	for _, tests := range [][]string{{"./" + pkg}, further} {
		if err == nil && tests != nil {
			err = p.compile(ctx, overlay, tests)
		}
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *program) remove() {
	p.state.Close()
	os.RemoveAll(p.dir)
}

// write writes the package with its mistakes, and returns the file that puts it in the place of the original.
func (p *program) write(of *packages.Package, pkg, folder string) (overlay string, err error) {
	prefix := "mistake"
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		for bytes.Contains(append(b, name...), []byte(prefix)) {
			prefix += "_"
		}
	}
	mutants, copies, err := switched(of, pkg, prefix)
	if err != nil {
		return "", err
	}
	p.mutants = mutants
	state := filepath.Join(p.dir, "state")
	if p.state, err = os.OpenFile(state, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return "", err
	}
	if err := errors.Join(p.state.Chmod(0o666), p.set(0)); err != nil {
		return "", err
	}
	copies[filepath.Join(folder, prefix+".go")] = []byte(strings.NewReplacer("PREFIX", prefix, "NAME", of.Name, "FILE", state,
		"COUNT", fmt.Sprint(1+len(mutants))).Replace(switches))
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

// compile makes the binary of some tests, if there are any.
func (p *program) compile(ctx context.Context, overlay string, tests []string) error {
	s := &suite{binary: filepath.Join(p.dir, fmt.Sprintf("%d.test", len(p.suites))), folder: tests[0],
		args: []string{"-test.short", "-test.failfast", "-test.paniconexit0"}}
	for _, arg := range tests[1:] {
		s.args = append(s.args, strings.Replace(arg, "-", "-test.", 1))
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", s.binary, tests[0])
	out, err := p.combined(cmd)
	if err != nil {
		return fmt.Errorf("%s with its mistakes: %w: %s", tests[0], err, lastLines(string(out), 20))
	}
	if _, err := os.Stat(s.binary); err == nil {
		p.suites = append(p.suites, s)
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

// asItIs runs the tests without a mistake: they must pass in time, and tell what they come to.
func (p *program) asItIs(ctx context.Context, limit time.Duration) error {
	for _, s := range p.suites {
		start := time.Now()
		if how, out := p.run(ctx, s, 0, limit); how != missed {
			return fmt.Errorf("the tests of %s fail as they are: %s", s.folder, lastLines(out, 10))
		}
		s.took = time.Since(start)
		s.met = make([]uint32, 1+len(p.mutants))
		b := make([]byte, 4*len(s.met))
		if _, err := p.state.ReadAt(b, 0); err != nil {
			return err
		}
		if _, err := binary.Decode(b, binary.NativeEndian, s.met); err != nil {
			return err
		}
	}
	return nil
}

// hung is a mistake with which the tests do not end: they should fail with a message.
const hung = "HANGS"

// try runs the tests that come to a mistake with it, until some notice it.
func (p *program) try(ctx context.Context, m *mutant, limit time.Duration) string {
	for _, s := range p.suites {
		if s.met[m.n] == 0 {
			continue
		}
		if how, _ := p.run(ctx, s, m.n, min(limit, max(5*s.took, leastPatience))); how != missed {
			return how
		}
	}
	return missed
}

// run runs tests with a mistake. All that they started ends with them.
func (p *program) run(ctx context.Context, s *suite, n int, limit time.Duration) (how, said string) {
	if err := p.set(n); err != nil {
		return stale, err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, s.args...)
	cmd.Dir = s.folder
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
