package ingest

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fettle/fleet/hub/store/storetest"
)

// acked notes which message is acknowledged.
type acked struct {
	sent
	place int
	all   *[]int
}

func (m acked) Ack() error { *m.all = append(*m.all, m.place); return nil }

// An acknowledgement is of all messages before it, too: the last one of a batch gets it,
// or all but the first come again and again.
func TestBatchIsAcknowledged(t *testing.T) {
	in := newIntake(Config{DB: storetest.SQLite(t), Log: func(s string) { t.Error(s) }})
	var got []int
	var batch []jetstream.Msg
	for i := range 3 {
		batch = append(batch, acked{sent{subject: "nobody's"}, i, &got})
	}
	if !in.batch(t.Context(), batch) || !slices.Equal(got, []int{2}) {
		t.Errorf("acknowledged: %v, want the last of 3", got)
	}
}
