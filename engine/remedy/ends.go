package remedy

import (
	"fmt"
	"strings"
	"time"

	"fettle/internal/ui"
)

// StillFound is Verify's answer that the finding is still there.
type StillFound struct{ Summary string }

func (e *StillFound) Error() string { return "the check still finds it: " + e.Summary }

// NothingMended is the refusal to undo "the last change" right after a fix that
// found nothing to fix: the last change is not what the admin has in mind.
type NothingMended struct {
	What string    // the fix: "bridge-mtu"
	When time.Time // when it looked
	Last *Change   // the last change that stands
}

func (e *NothingMended) Error() string {
	return fmt.Sprintf(
		"the last fix (%s, %s) had nothing to fix; the change before it is %s, for %s: to undo that one, name it: fettle undo %s",
		ui.Visible(e.What),
		e.When.Local().Format(time.DateTime),
		e.Last.ID,
		ui.Visible(e.Last.For()),
		e.Last.ID,
	)
}

// RolledBack is the error of an apply that failed and was rolled back.
type RolledBack struct {
	ID    string
	Why   error
	Left  []string // what was left as it is, and why
	Exact bool     // every step is restorable
}

func (e *RolledBack) Error() string {
	if len(e.Left) > 0 {
		return fmt.Sprintf("%v; it was rolled back (change %s), except:\n  %s", e.Why, e.ID, strings.Join(e.Left, "\n  "))
	}
	if !e.Exact {
		return fmt.Sprintf("%v; it was rolled back (change %s), as far as its steps can be", e.Why, e.ID)
	}
	return fmt.Sprintf("%v; everything was rolled back (change %s)", e.Why, e.ID)
}
func (e *RolledBack) Unwrap() error { return e.Why }

// Incomplete is the error of a taking back that did not reach everything.
type Incomplete struct {
	ID     string
	Why    error // why the change was rolled back; nil when the admin asked
	Failed []error
}

func (e *Incomplete) Error() string {
	var b strings.Builder
	if e.Why != nil {
		fmt.Fprintf(&b, "%v; and ", e.Why)
	}
	b.WriteString("not everything could be put back:")
	for _, f := range e.Failed {
		fmt.Fprintf(&b, "\n  %v", f)
	}
	fmt.Fprintf(&b, "\nfix that and run: fettle undo %s", e.ID)
	return b.String()
}

// Unconfirmed is the refusal to change what a change that waits to be confirmed
// has changed.
type Unconfirmed struct{ ID, Path string }

func (e *Unconfirmed) Error() string {
	return fmt.Sprintf(
		"change %s is not confirmed yet, and changed %s too: first confirm it "+
			"(fettle confirm %s) or undo it (fettle undo %s); nothing was changed",
		e.ID,
		ui.Visible(e.Path),
		e.ID,
		e.ID,
	)
}

// Unfinished is the refusal to begin while an earlier change is half done.
type Unfinished struct {
	ID    string
	Phase Phase
}

func (e *Unfinished) Error() string {
	what := "was cut off while it was applied"
	if e.Phase == Undoing {
		what = "was interrupted while it was rolled back"
	}
	return fmt.Sprintf("change %s %s: first finish it (fettle resume %s) or undo it (fettle undo %s)", e.ID, what, e.ID, e.ID)
}
