package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// UnitFields are the fields that are asked of the journal of one unit.
const UnitFields = JournalFields + ",_HOSTNAME,MESSAGE_ID"

// unitLines is how many of a unit's last lines are read at most.
const unitLines = 20000

// UnitName is the full name of a unit, as systemctl completes it: "nginx" is nginx.service.
func UnitName(name string) (string, error) {
	full := name
	if !slices.ContainsFunc(unitSuffixes, func(s string) bool { return strings.HasSuffix(name, s) }) {
		full += ".service"
	}
	if !validUnitName(full) || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("%q is not the name of a unit", name)
	}
	return full, nil
}

// unitSuffixes are the kinds of units (systemd.unit(5)).
var unitSuffixes = []string{".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer", ".slice",
	".scope"}

// UnitJournal reads the last lines of this boot that a unit logged, or systemd about it, as
// journalctl -o json prints them; none, if there are none. since is zero for the whole boot.
func UnitJournal(ctx context.Context, run func(context.Context, Command) (Output, error), unit string, since time.Time) ([]byte, error) {
	r := journalReader{run: run, now: time.Now().UTC()}
	match := []string{"-u", unit}
	if !since.IsZero() {
		match = append([]string{"--since=@" + strconv.FormatInt(since.Unix(), 10)}, match...)
	}
	out, missing := r.lines(ctx, unitLines, UnitFields, match)
	if missing == nil && len(out) == 0 { // journalctl does not say that there is no journal at all
		var some []byte
		if some, missing = r.lines(ctx, 1, UnitFields, nil); missing == nil && len(some) == 0 {
			missing = &Log{Missing: "there is no journal of this boot"}
		}
	}
	if missing != nil {
		missing.Source = "journalctl"
		return nil, missing.Err()
	}
	return out, nil
}
