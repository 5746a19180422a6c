package ui

import (
	"fmt"
	"strings"
)

// Few names the first n, and counts the others.
func Few(names []string, n int) string {
	if len(names) <= n+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
