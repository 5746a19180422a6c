package report

import (
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/jsondoc"
)

// sarifLog is the part of SARIF 2.1.0 that fettle writes (OASIS, "Static
// Analysis Results Interchange Format", errata 01). Section numbers below are
// that document's.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []SARIFRun `json:"runs"`
}

// SARIFRun is what one run says of one host.
type SARIFRun struct {
	Tool        sarifTool         `json:"tool"`
	Automation  *sarifAutomation  `json:"automationDetails,omitempty"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
	Properties  map[string]any    `json:"properties,omitempty"`
}

// sarifAutomation tells runs apart that one file has (3.17): readers compare a run
// with the earlier one of the same id.
type sarifAutomation struct {
	ID string `json:"id"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
	Help  sarifText `json:"help"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful bool   `json:"executionSuccessful"`
	Start      string `json:"startTimeUtc,omitempty"`
	End        string `json:"endTimeUtc,omitempty"`
	Machine    string `json:"machine,omitempty"`
	// Notes are what kept the run from being whole (3.20.21).
	Notes []sarifNote `json:"toolExecutionNotifications,omitempty"`
}

type sarifNote struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifResult struct {
	RuleID    string `json:"ruleId"`
	RuleIndex int    `json:"ruleIndex"`
	// Kind keeps the four outcomes apart (3.27.9): fail, pass, notApplicable,
	// and open: "insufficient information to decide".
	Kind         string             `json:"kind"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	Baseline     string             `json:"baselineState,omitempty"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name      string `json:"name"`
	Qualified string `json:"fullyQualifiedName"`
	Kind      string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification"`
}

type sarif struct {
	collected
	w        io.Writer
	baseline bool // an earlier run is compared with
}

func newSARIF(w io.Writer, opt Options) Writer { return &sarif{w: w, baseline: opt.New} }

func (s *sarif) End(took time.Duration) error {
	return jsondoc.Encode(s.w, SARIFLog([]SARIFRun{s.run(Infos(s.traps), took)}), "  ")
}

// SARIFLog is a document of runs.
func SARIFLog(runs []SARIFRun) any {
	return sarifLog{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", runs}
}

// SARIFHost is the run of one host among many; failed says why it is not whole.
func SARIFHost(name string, d *Document, opt Options, failed error) SARIFRun {
	s := sarif{collected: collected{meta: d.Meta, results: d.Results}, baseline: opt.New}
	run := s.run(d.Traps, d.Took)
	run.Automation = &sarifAutomation{"fettle/" + name}
	if failed != nil {
		inv := &run.Invocations[0]
		inv.Successful, inv.Notes = false, []sarifNote{{"error", sarifText{failed.Error()}}}
	}
	return run
}

func (s *sarif) run(rules []TrapInfo, took time.Duration) SARIFRun {
	run := SARIFRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "fettle", Version: s.meta.Version, Rules: []sarifRule{}}
	index := map[string]int{}
	rule := func(id, title string) int {
		i, ok := index[id]
		if !ok {
			i = len(run.Tool.Driver.Rules)
			index[id] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
				sarifRule{id, sarifText{title}, sarifText{"fettle explain " + id}})
		}
		return i
	}
	for _, t := range rules {
		rule(t.ID, t.Title)
	}
	const utc = "2006-01-02T15:04:05.000Z"
	inv := sarifInvocation{Successful: true, Machine: s.meta.Host}
	if !s.meta.Started.IsZero() {
		inv.Start, inv.End = s.meta.Started.UTC().Format(utc), s.meta.Started.Add(took).UTC().Format(utc)
	}
	run.Invocations = []sarifInvocation{inv}
	if s.meta.Kind != "" && s.meta.Kind != host.KindLive {
		run.Properties = map[string]any{"kind": s.meta.Kind}
	}
	results := worstFirst(s.results)
	for _, o := range outcomesWorstFirst(results) {
		run.Results = append(run.Results, s.result(rule(o.Trap, o.Trap), o))
	}
	for _, r := range results {
		for _, was := range r.Resolved {
			run.Results = append(run.Results, absent(rule(r.Trap, r.Trap), r.Trap, was))
		}
	}
	return run
}

func (s *sarif) result(rule int, o *trap.Outcome) sarifResult {
	r := sarifResult{RuleID: o.Trap, RuleIndex: rule, Kind: "open", Level: "none", Message: sarifText{plain(&s.meta, o)},
		Locations: []sarifLocation{sarifWhere(o)}, Fingerprints: map[string]string{"fettle/1": o.ID()}}
	if r.Message.Text == "" {
		r.Message.Text = string(o.Status)
	}
	switch o.Status {
	case trap.Found:
		r.Kind = "fail"
		r.Level = map[trap.Severity]string{trap.Critical: "error", trap.Warning: "warning"}[o.Severity]
		if r.Level == "" {
			r.Level = "note"
		}
		switch {
		case o.Known:
			r.Baseline = "unchanged"
		case s.baseline:
			r.Baseline = "new"
		}
		if a := o.Accepted; a != nil && a.Lapsed == "" {
			r.Suppressions = []sarifSuppression{{"external", "accepted", a.Reason + until(a)}}
		}
	case trap.Clear:
		r.Kind = "pass"
	case trap.NotApplicable:
		r.Kind = "notApplicable"
	}
	return r
}

// absent is what an earlier run found and this one does not (section 3.27.24).
func absent(rule int, id string, was trap.Resolved) sarifResult {
	o := trap.Outcome{Trap: id, Subject: was.Subject}
	return sarifResult{RuleID: id, RuleIndex: rule, Kind: "pass", Level: "none", Message: sarifText{"resolved; was " + was.Said},
		Locations: []sarifLocation{sarifWhere(&o)}, Fingerprints: map[string]string{"fettle/1": o.ID()}, Baseline: "absent"}
}

// sarifWhere is the subject, and the file that the evidence names first.
func sarifWhere(o *trap.Outcome) sarifLocation {
	name := o.Subject
	if name == "" {
		name = "host"
	}
	l := sarifLocation{Logical: []sarifLogical{{name, o.ID(), "resource"}}}
	for _, e := range o.Evidence {
		file, line, _ := strings.Cut(e.Source, ":")
		if !path.IsAbs(file) || strings.ContainsAny(file, " \n") {
			continue
		}
		l.Physical = &sarifPhysical{}
		l.Physical.Artifact.URI = (&url.URL{Scheme: "file", Path: file}).String()
		if n, err := strconv.Atoi(line); err == nil && n > 0 {
			l.Physical.Region = &sarifRegion{n}
		}
		break
	}
	return l
}
