package step

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/hexops/gotextdiff"
	"github.com/hexops/gotextdiff/myers"
)

// Diff is a unified diff from old to new content; a nil content is a file that
// does not exist. Content that is not text is only measured.
func Diff(oldName, newName string, old, new []byte) string {
	if bytes.Equal(old, new) && (old == nil) == (new == nil) {
		return ""
	}
	if !IsText(old) || !IsText(new) {
		return fmt.Sprintf("--- %s\n+++ %s\nnot text: %d bytes become %d bytes\n", oldName, newName, len(old), len(new))
	}
	edits := myers.ComputeEdits("", string(old), string(new))
	out := fmt.Sprint(gotextdiff.ToUnified(oldName, newName, string(old), edits))
	if out == "" { // an empty file made or deleted
		return fmt.Sprintf("--- %s\n+++ %s\n", oldName, newName)
	}
	return out
}

// IsText tells whether content can be in a diff, or a script.
func IsText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }
