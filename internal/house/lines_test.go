package house

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longest is how long a line may be, in bytes. Raw strings hold other people's
// formats, and may be longer.
const longest = 140

// TestLinesFitAScreen wants no line over the limit in Go that is not generated, nor
// in the hub's templates and styles.
func TestLinesFitAScreen(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		page := strings.HasPrefix(rel, "fleet/hub/web/templates/") || strings.HasSuffix(rel, "/hub.css")
		if !page && !strings.HasSuffix(p, ".go") {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil || bytes.HasPrefix(b, []byte("// Code generated")) {
			return err
		}
		raw := map[int]bool{}
		if !page {
			raw = rawLines(b)
		}
		for i, line := range bytes.Split(b, []byte("\n")) {
			if len(line) > longest && !raw[i+1] {
				t.Errorf("%s:%d: %d characters: break the line", rel, i+1, len(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rawLines are the lines on which a part of a raw string lies.
func rawLines(src []byte) map[int]bool {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && lit[0] == '`' {
			first := file.Line(pos)
			for i := range strings.Count(lit, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}
