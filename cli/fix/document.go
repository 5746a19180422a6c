package fix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/internal/jsondoc"
)

// document is fettle fix --format json: what Ansible's module and fix --host read.
type document struct {
	jsondoc.Envelope
	Host     string      `json:"host"`
	Trap     string      `json:"trap"`
	Result   result      `json:"result"`
	Status   int         `json:"status"` // the exit status
	Findings []finding   `json:"findings"`
	Refused  []unmended  `json:"refused"` // what the remedy refuses
	Plan     *planDoc    `json:"plan,omitempty"`
	Change   *appliedDoc `json:"change,omitempty"`
	Error    string      `json:"error,omitempty"`
}

// result is what became of a run of fix.
type result string

const (
	resultNothing    result = "nothing-to-mend"
	resultPlanned    result = "planned"
	resultMended     result = "mended"
	resultRefused    result = "refused"     // nothing was changed
	resultUnknown    result = "unknown"     // the host could not be inspected
	resultRolledBack result = "rolled-back" // put back as it was
	resultHalfWay    result = "half-way"    // a change is half done
	resultFailed     result = "failed"
)

type finding struct {
	Subject  string        `json:"subject,omitempty"`
	Severity trap.Severity `json:"severity"`
	Summary  string        `json:"summary"`
}

type unmended struct {
	Subject string `json:"subject,omitempty"`
	Reason  string `json:"reason"`
}

// planDoc is a plan as it is shown.
type planDoc struct {
	Digest         string `json:"digest"` // for --as-planned
	Title          string `json:"title"`
	Text           string `json:"text"` // with diffs, for people; every step
	Steps          int    `json:"steps"`
	Irreversible   int    `json:"irreversible"` // steps that cannot be undone
	CutsConnection bool   `json:"cuts_connection"`
}

// appliedDoc is the change that was made.
type appliedDoc struct {
	ID        string    `json:"id"` // for fettle undo
	ConfirmBy time.Time `json:"confirm_by,omitzero"`
}

// fixDocument is fix with its outcome as one object; what it does meanwhile is
// told on standard error.
func fixDocument(ctx context.Context, a *app.App, id string, o Options) error {
	if !o.Plan && !o.Yes {
		return app.Usagef("--format json cannot ask: give --plan or --yes")
	}
	host, _ := os.Hostname()
	o.doc = &document{Envelope: jsondoc.New("fix"), Host: host, Trap: id, Findings: []finding{}, Refused: []unmended{}}
	o.Format = "text"
	out := a.Stdout
	if a.Stdout = a.Stderr; o.Plan {
		a.Stdout = io.Discard
	}
	err := Status(fix(ctx, a, id, o))
	o.doc.end(err)
	a.Stdout = out
	if err := a.JSON(o.doc); err != nil {
		return app.Failf("writing the outcome: %w", err)
	}
	return app.Exit(o.doc.Status, nil)
}

func (d *document) end(err error) {
	if err != nil {
		var s *app.Status
		d.Error, d.Status = err.Error(), app.ExitUsage
		if errors.As(err, &s) {
			d.Status = s.Code
		}
	}
	switch {
	case d.Change != nil:
		d.Result = resultMended
	case d.Status == app.ExitOK && d.Plan != nil, d.Status == exitNotDone && d.Plan != nil && len(d.Refused) > 0:
		d.Result = resultPlanned
	case d.Status == app.ExitOK:
		d.Result = resultNothing
	case d.Status == app.ExitUnknown:
		d.Result = resultUnknown
	case d.Status == exitNotDone, d.Status == exitChanged, d.Status == exitBusy:
		d.Result = resultRefused
	case d.Status == exitRolledBack:
		d.Result = resultRolledBack
	case d.Status == exitHalfWay:
		d.Result = resultHalfWay
	default:
		d.Result = resultFailed
	}
}

// found notes what is to be fixed.
func (d *document) found(fs []trap.Finding) {
	if d == nil {
		return
	}
	for _, f := range fs {
		d.Findings = append(d.Findings, finding{f.Subject, f.Severity, f.Summary})
	}
}

// planned notes the plan, and what is refused.
func (d *document) planned(m *mending) error {
	if d == nil {
		return nil
	}
	for _, r := range m.refused {
		d.Refused = append(d.Refused, unmended{r.finding.Subject, r.err.Error()})
	}
	if len(m.findings) == 0 {
		return nil
	}
	digest, err := m.digest()
	if err != nil {
		return err
	}
	d.Plan = &planDoc{
		Digest:         digest,
		Title:          m.plan.Title,
		Text:           m.text(planWidth, true),
		Steps:          len(m.plan.Steps),
		CutsConnection: m.plan.CutsConnection,
	}
	for _, s := range m.plan.Steps {
		if s.Reversal().Class == step.Irreversible {
			d.Plan.Irreversible++
		}
	}
	return nil
}

func (d *document) applied(c *remedy.Change) {
	if d == nil {
		return
	}
	d.Change = &appliedDoc{ID: c.ID}
	if deadline, due := c.Unconfirmed(); due {
		d.Change.ConfirmBy = deadline.UTC()
	}
}

// planWidth is how wide a plan's text is where nobody's terminal is known.
const planWidth = 80

// digest tells a plan from any other: what it does, and from which state of the
// host, as it is shown.
func (m *mending) digest() (string, error) {
	b, err := json.Marshal(m.plan)
	if err != nil {
		return "", fmt.Errorf("telling the plan from others: %w", err)
	}
	sum := sha256.Sum256(append(b, m.text(planWidth, true)...))
	return hex.EncodeToString(sum[:]), nil
}
