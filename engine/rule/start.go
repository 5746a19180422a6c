package rule

import (
	_ "embed"
	"fmt"
	"strings"
)

// StartFile is a file of a new rule.
type StartFile struct{ Name, Content string }

//go:embed start.yaml
var startRule string

const startHealthy = `A host as it should be. What is not in this file is absent.
-- root/etc/example.conf --
# comments are left out
Limit = 8
-- want --
clear: the limit is high enough
`

const startTrapped = `-- root/etc/example.conf --
Limit = 1
-- want --
found warning: the limit of /etc/example.conf is too low
-- plan --
change /etc/example.conf
`

const startAbsent = `A host without the program.
-- want --
not-applicable: the example is not installed
`

// Start is a commented start for a rule, with its samples.
func Start(id string) ([]StartFile, error) {
	if !idForm().MatchString(id) || len(id) > 100 {
		return nil, fmt.Errorf("%q: the id of a rule is lower-case words joined by dashes, as in stale-pidfile", id)
	}
	return []StartFile{
		{"rule.yaml", strings.ReplaceAll(startRule, "ID", id)},
		{"healthy.txtar", startHealthy}, {"trapped.txtar", startTrapped}, {"absent.txtar", startAbsent},
	}, nil
}
