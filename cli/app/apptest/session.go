package apptest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle/internal/means"
)

// Session calls a program as the file has it: each line that begins with "$ " is a command, beneath it is what it says. Lines on
// standard error begin with "! ", and "= 2" is an exit status other than 0; lines that begin with "#" are comments before a command.
// FETTLE_UPDATE=1 writes the file again: read then what changed. A command that goes on is interrupted after means.Patience.
func Session(t *testing.T, file string, call func(ctx context.Context, args []string) (code int, out, errs string)) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, blocks := parse(string(b))
	got := head
	for _, block := range blocks {
		ctx, end := context.WithTimeout(t.Context(), means.Patience)
		code, out, errs := call(ctx, words(block.command))
		end()
		said := told(code, out, errs)
		if said != block.said && os.Getenv("FETTLE_UPDATE") == "" {
			t.Errorf("%s: %s\nsays:\n%swant:\n%s", file, block.command, said, block.said)
		}
		got += "$ " + block.command + "\n" + said + block.comment
	}
	if os.Getenv("FETTLE_UPDATE") == "" {
		return
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

type block struct{ command, said, comment string }

// parse reads a session: comments belong to what precedes them.
func parse(text string) (head string, blocks []block) {
	comment := &head
	for line := range strings.Lines(text) {
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case is:
			blocks = append(blocks, block{command: strings.TrimSuffix(command, "\n")})
			comment = &blocks[len(blocks)-1].comment
		case strings.HasPrefix(line, "#") || len(blocks) == 0 || *comment != "":
			*comment += line
		default:
			blocks[len(blocks)-1].said += line
		}
	}
	return head, blocks
}

// told is how a session has what a command said. Nothing in it looks like a command or a comment.
func told(code int, out, errs string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "$ ") || line == "\n" {
			b.WriteString("|")
		}
		b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	for line := range strings.Lines(errs) {
		b.WriteString("! " + strings.TrimSuffix(line, "\n") + "\n")
	}
	if code != 0 {
		fmt.Fprintf(&b, "= %d\n", code)
	}
	return b.String()
}

// words are those of a command; single quotes hold one together.
func words(command string) []string {
	var out []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
