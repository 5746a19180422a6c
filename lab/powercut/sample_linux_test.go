package powercut

import (
	"errors"
	"strings"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

// TestFilesSample and TestArraySample cut the power of a machine a few times, and
// tell lies that must be noticed.
func TestFilesSample(t *testing.T) { sample(t, "powercut/files-sample", labtest.Distribution, proved) }

func TestArraySample(t *testing.T) { sample(t, "powercut/raid10-sample", labtest.Distribution, proved) }

// TestSyncs records an array and the root while both are flushed at once.
func TestSyncs(t *testing.T) { sample(t, "powercut/raid10-syncs", labtest.Distribution, proved) }

// TestWhoseFlush: a newer kernel, too, tells whose a flush is. Its log has a few orders that no
// disk can have (see record), so the others play on the distribution's.
func TestWhoseFlush(t *testing.T) {
	sample(t, "powercut/raid10-syncs", labtest.Options, func(v lab.Verdict) bool {
		return v.OK || strings.Contains(v.Why, "orders of writes")
	})
}

func proved(v lab.Verdict) bool { return v.OK }

func sample(t *testing.T, name string, options func(testing.TB) lab.Options, good func(lab.Verdict) bool) {
	t.Helper()
	means.Short(t, "boots a machine and cuts its power")
	opt := options(t)
	for _, e := range Experiments {
		if e.Name != name {
			continue
		}
		lab.PlayAll(t.Context(), []lab.Job{{Experiment: &e, Options: opt}}, 1, func(o lab.Outcome) {
			switch {
			case errors.As(o.Err, new(*lab.MissingError)):
				labtest.Lacks(t, o.Err)
			case o.Err != nil:
				t.Error(o.Err)
			case !good(o.Verdict):
				t.Errorf("%s\n%s\n%s", o.Verdict.Why, strings.Join(o.Verdict.Table.Notes, "\n"), o.Verdict.Console)
			default:
				t.Logf("%.1f s: %s", o.Verdict.Took.Seconds(), strings.Join(o.Verdict.Table.Notes, "\n"))
			}
		})
		return
	}
	t.Fatalf("no experiment %s", name)
}
