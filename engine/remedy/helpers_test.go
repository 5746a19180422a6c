package remedy

import "strings"

// says tells whether a text contains what it should; nothing should be said where nothing is wanted.
func says(got, want string) bool { return (got == "") == (want == "") && strings.Contains(got, want) }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
