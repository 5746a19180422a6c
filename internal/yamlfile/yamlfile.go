// Package yamlfile reads the YAML files in which admins decide what fettle does:
// size-limited, refused if others may write them, errors with their position.
package yamlfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Limit is far more than such a file needs, in bytes.
const Limit = 4 << 20

// Read reads a file; one that does not exist is empty. As root it refuses a
// file that others than root may write: they would decide for root.
func Read(file string) ([]byte, error) {
	st, err := os.Stat(file)
	switch {
	case os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), syscall.ENOTDIR.Error()):
		return nil, nil
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", file)
	case st.Size() > Limit:
		return nil, fmt.Errorf("%s: larger than %d MiB", file, Limit>>20)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 && (sys.Uid != 0 || st.Mode().Perm()&0o022 != 0) {
		return nil, fmt.Errorf("%s: others than root may write it; chown root and chmod go-w it", file)
	}
	return os.ReadFile(file)
}

// Guard runs a call of the YAML library. On some odd input that breaks, as 1.19.2 does
// where a list is expected and "!tag" alone stands; this is an error of the input.
func Guard(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML parser cannot read this")
		}
	}()
	return call()
}

// Parse reads the documents of a file of this name. One that is empty and has another behind it is an
// error: there the library ends (1.19.2), as if the file did.
func Parse(file string, b []byte) (f *ast.File, err error) {
	if err := Guard(func() (err error) { f, err = parser.ParseBytes(b, 0); return err }); err != nil {
		return nil, Located(file, err)
	}
	empty, n := false, 0
	for line := range strings.Lines(string(b)) {
		n++
		rest, marker := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "---")
		marker = marker && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
		if marker && empty {
			return nil, fmt.Errorf("%s:%d: the document before this line is empty; remove the line", file, n)
		}
		text := strings.TrimSpace(rest)
		empty = (marker || empty) && (text == "" || text[0] == '#')
	}
	return f, nil
}

// One is what the only document of a file of this name holds; nil where there are but comments.
func One(file string, f *ast.File) (ast.Node, error) {
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType || d.Body.Type() == ast.NullType {
			continue
		}
		if body != nil {
			return nil, fmt.Errorf("%s:%d: a second document; put everything into one", file, d.Body.GetToken().Position.Line)
		}
		body = d.Body
	}
	return body, nil
}

// Decode reads the only document of a file of this name into a value, strictly. A file that says
// nothing leaves the value as it is.
func Decode(file string, b []byte, into any) error {
	f, err := Parse(file, b)
	if err != nil {
		return err
	}
	body, err := One(file, f)
	if err != nil || body == nil {
		return err
	}
	if err := Guard(func() error { return yaml.NodeToValue(body, into, yaml.Strict()) }); err != nil {
		return Located(file, err)
	}
	return nil
}

// Located turns an error of the YAML library into "file:line:col: message".
func Located(file string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		p := y.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", file, p.Line, p.Column, y.GetMessage())
	}
	return fmt.Errorf("%s: %w", file, err)
}
