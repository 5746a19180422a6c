package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// lines are those that the tests ran, by file.
type lines map[string]map[int]bool

func (l lines) has(file string, line int) bool { return l[file][line] }

// coverage runs the tests once as they are, and tells which lines of the package ran.
func (g *generation) coverage(ctx context.Context, pkg string) (lines, error) {
	f, err := os.CreateTemp("", "fettle-cover-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	args := []string{"test", "-short", "-timeout", "20m", "-coverprofile", f.Name(), "./" + pkg}
	if out, err := g.combined(exec.CommandContext(ctx, "go", args...)); err != nil {
		return nil, fmt.Errorf("the tests of %s fail as they are: %s", pkg, lastLines(string(out), 10))
	}
	return readCoverage(f)
}

// readCoverage reads a profile: "fettle/PKG/FILE:FROM.COL,TO.COL STATEMENTS COUNT".
func readCoverage(r io.Reader) (lines, error) {
	out := lines{}
	for sc := bufio.NewScanner(r); sc.Scan(); {
		name, rest, ok := strings.Cut(strings.TrimPrefix(sc.Text(), "fettle/"), ":")
		f := strings.FieldsFunc(rest, func(r rune) bool { return r == '.' || r == ',' || r == ' ' })
		if !ok || len(f) != 6 || f[5] == "0" {
			continue
		}
		from, err := strconv.Atoi(f[0])
		to, err2 := strconv.Atoi(f[2])
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("a coverage profile: %w", err)
		}
		if out[name] == nil {
			out[name] = map[int]bool{}
		}
		for i := from; i <= to; i++ {
			out[name][i] = true
		}
	}
	return out, nil
}
