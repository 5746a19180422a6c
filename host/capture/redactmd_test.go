package capture

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"fettle/host"
	"fettle/host/mdraid"
	"fettle/host/redact"
)

// A superblock holds the host's name and UUIDs, in bytes that no replacing
// of words in text finds.
func TestRedactMD(t *testing.T) {
	sb, err := os.ReadFile("../mdraid/testdata/raid1-1.2.sb")
	if err != nil {
		t.Fatal(err)
	}
	in, _ := json.Marshal([]host.MDMember{{Array: "md0", Device: "sda1", Superblock: sb}, {Array: "md0", Device: "sdb1", Denied: true}})
	r, err := redact.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	a := Answer{Question: Question{Op: OpTable, Path: text(host.TableMD)}, content: in}
	if !a.redact(r) {
		t.Fatal("it was dropped")
	}
	var ms []host.MDMember
	if err := json.Unmarshal(a.content, &ms); err != nil || len(ms) != 2 || !ms[1].Denied {
		t.Fatalf("%+v, %v", ms, err)
	}
	was, _ := mdraid.Parse(sb)
	got, err := mdraid.Parse(ms[0].Superblock)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(ms[0].Superblock, []byte("lab:0")) || got.SetUUID == was.SetUUID || got.DeviceUUID == was.DeviceUUID {
		t.Errorf("it survives: %+v", got)
	}
	if got.BBLSize != was.BBLSize || got.DataOffset != was.DataOffset || got.Role != was.Role {
		t.Errorf("what the check reads is gone: %+v", got)
	}
}
