package stories

import (
	"encoding/json"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// played is what fettle lab --format json says of each scenario.
type played []struct {
	Trap, Scenario string
	OK             bool
	Stages         []struct {
		Name   string
		OK     bool
		Probes map[string]string
	}
}

// proved TRAP/SCENARIO [STAGE PROBE REGEXP]… wants a scenario, in the JSON that fettle lab printed, to be
// played to its good end, and what its probes asked the kernel or the daemon at these stages to be so.
func proved(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%3 != 1 {
		ts.Fatalf("usage: proved TRAP/SCENARIO [STAGE PROBE REGEXP]...")
	}
	var all played
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &all))
	for _, p := range all {
		if p.Trap+"/"+p.Scenario != args[0] {
			continue
		}
		if !p.OK {
			ts.Fatalf("%s is not proved", args[0])
		}
		for want := args[1:]; len(want) > 0; want = want[3:] {
			got, ok := "", false
			for _, s := range p.Stages {
				if s.Name == want[0] && s.OK {
					got, ok = s.Probes[want[1]]
				}
			}
			re, err := regexp.Compile("^(?:" + want[2] + ")$")
			ts.Check(err)
			if !ok || !re.MatchString(got) {
				ts.Fatalf("%s, %s: %s is %q (asked: %v), want %s", args[0], want[0], want[1], got, ok, want[2])
			}
		}
		return
	}
	ts.Fatalf("%s was not played", args[0])
}
