package ui

import (
	"os"
	"strings"
)

// UTF8 tells whether the locale's characters are UTF-8 (locale(7)): the first
// of these variables that is set counts.
func UTF8() bool {
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(os.Getenv(k)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return false
}
