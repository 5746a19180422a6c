package run

import (
	"os"
	"testing"

	"fettle/host/capture"
)

// TestRecordingFails: why no capture could be written reaches the process that
// asked for it.
func TestRecordingFails(t *testing.T) {
	out, err := os.Open(os.DevNull) // for reading
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := &Recording{Out: out}
	r.write(&capture.Capture{})
	if r.Sum == nil || r.Sum.Failed != "bad file descriptor" {
		t.Errorf("the account says %+v", r.Sum)
	}
}
