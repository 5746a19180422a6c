package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"fettle/host/capture"
)

// TestRecordingFails: why no capture could be written reaches the process that
// asked for it.
func TestRecordingFails(t *testing.T) {
	r := &Recording{File: filepath.Join(t.TempDir(), "capture")}
	if err := os.Mkdir(r.File, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.write(&capture.Capture{}); err == nil {
		t.Error("a folder was written to")
	}
	var sum Recorded
	b, err := os.ReadFile(r.File + ".json")
	if err == nil {
		err = json.Unmarshal(b, &sum)
	}
	if err != nil || sum.Failed != "is a directory" {
		t.Errorf("the account says %+v, %v", sum, err)
	}
}
