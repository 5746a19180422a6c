package guest

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"fettle/lab"
)

// probe runs a probe's command and returns what is to be shown of it.
func probe(p lab.Probe) string {
	start := time.Now()
	out, code, err := run(p.Run, nil)
	took := time.Since(start)
	switch {
	case err != nil:
		return err.Error()
	case p.Timed && code != 0:
		return fmt.Sprintf("status %d", code)
	case p.Timed:
		return fmt.Sprintf("%.2f s", took.Seconds())
	case p.Find != "":
		m := regexp.MustCompile(p.Find).FindStringSubmatch(out)
		if m == nil {
			return "not told: " + lastLine(out)
		}
		return m[len(m)-1]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return first
}
