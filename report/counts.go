package report

import (
	"fmt"
	"strings"

	"fettle/engine/trap"
)

// Counts tells outcomes apart, one for each subject. Found counts findings
// that count; those that were accepted or known already are beside it.
type Counts struct {
	Found         int `json:"found"`
	Clear         int `json:"clear"`
	NotApplicable int `json:"not_applicable"`
	Unknown       int `json:"unknown"`
	Accepted      int `json:"accepted"`
	Known         int `json:"known"`
	Below         int `json:"below"` // check --severity
	// Resolved counts what an earlier run of check --new showed and is no longer there.
	Resolved int `json:"resolved"`
	// Severities splits Found.
	Severities struct {
		Critical int `json:"critical"`
		Warning  int `json:"warning"`
		Notice   int `json:"notice"`
	} `json:"severities"`
	// UnknownOK is how many of Unknown do not affect the exit status: check --unknown-ok.
	UnknownOK int `json:"-"`
}

// Add counts what one trap's check said.
func (c *Counts) Add(r trap.Result) {
	c.Resolved += len(r.Resolved)
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		switch o.Status {
		case trap.Clear:
			c.Clear++
		case trap.NotApplicable:
			c.NotApplicable++
		case trap.Found:
			c.addFound(o)
		default: // whatever a newer fettle may say, it is not clear
			c.Unknown++
			if r.UnknownOK {
				c.UnknownOK++
			}
		}
	}
}

func (c *Counts) addFound(o *trap.Outcome) {
	switch {
	case o.Accepted != nil && o.Accepted.Lapsed == "":
		c.Accepted++
		return
	case o.Below:
		c.Below++
		return
	case o.Known:
		c.Known++
		return
	}
	c.one(o.Severity)
}

// byEntry counts causes, as the entries for people do: a cause that is met in sixteen
// services is one thing to do.
func byEntry(c Counts, results []trap.Result) Counts {
	c.Found = 0
	c.Severities.Critical, c.Severities.Warning, c.Severities.Notice = 0, 0, 0
	for _, e := range entries(results) {
		c.one(e.severity)
	}
	return c
}

// one counts one finding.
func (c *Counts) one(severity trap.Severity) {
	c.Found++
	switch {
	case severity >= trap.Critical:
		c.Severities.Critical++
	case severity == trap.Warning:
		c.Severities.Warning++
	default:
		c.Severities.Notice++
	}
}

// AtLeast is how many findings are at or above a severity. Zero takes all.
func (c *Counts) AtLeast(s trap.Severity) int {
	n := c.Severities.Critical
	if s <= trap.Warning {
		n += c.Severities.Warning
	}
	if s <= trap.Notice {
		n += c.Severities.Notice
	}
	return n
}

// Exit is the exit status of a check: 1 when something was found at or above
// failOn; else 4 when something could not be looked at that should be; else 0.
func (c *Counts) Exit(failOn trap.Severity) int {
	switch {
	case c.AtLeast(failOn) > 0:
		return 1
	case c.Unknown > c.UnknownOK:
		return 4
	}
	return 0
}

// ExitNagios is the exit status of a monitoring plugin: 0 OK, 1 WARNING,
// 2 CRITICAL, 3 UNKNOWN (Monitoring Plugins Development Guidelines, "Plugin
// Return Codes"). Findings below failOn do not alarm; a finding goes before
// what could not be looked at.
func (c *Counts) ExitNagios(failOn trap.Severity) int {
	switch {
	case c.Severities.Critical > 0:
		return 2
	case c.AtLeast(failOn) > 0:
		return 1
	case c.Unknown > c.UnknownOK:
		return 3
	}
	return 0
}

// String is "2 found (1 critical, 1 notice); 27 clear, 51 not applicable, 1
// unknown", without severities that do not occur.
func (c *Counts) String() string {
	s := fmt.Sprintf("%d found", c.Found)
	var sev []string
	for _, n := range []struct {
		n    int
		name string
	}{{c.Severities.Critical, "critical"}, {c.Severities.Warning, "warning"}, {c.Severities.Notice, "notice"}} {
		if n.n > 0 {
			sev = append(sev, fmt.Sprintf("%d %s", n.n, n.name))
		}
	}
	if len(sev) > 0 {
		s += " (" + strings.Join(sev, ", ") + ")"
	}
	return s + fmt.Sprintf("; %d clear, %d not applicable, %d unknown", c.Clear, c.NotApplicable, c.Unknown)
}
