package blockcache

import (
	"fmt"
	"os"
	"strings"
)

// Target is what is measured: a folder, in which files of the measurement's own
// are made, or a block device.
type Target struct {
	Path   string `json:"path"`
	Device bool   `json:"device"`
}

// NewTarget looks at a path.
func NewTarget(path string) (Target, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return Target{}, err
	case st.IsDir():
		return Target{path, false}, nil
	case st.Mode()&os.ModeDevice != 0 && st.Mode()&os.ModeCharDevice == 0:
		return Target{path, true}, nil
	}
	return Target{}, fmt.Errorf("%s is neither a folder, in which to make files, nor a block device", path)
}

// Conditions are what a run was measured under. What could not be read is empty.
type Conditions struct {
	Target     Target `json:"target"`
	Host       string `json:"host,omitempty"`
	Processors int    `json:"processors,omitempty"`
	Kernel     string `json:"kernel"`
	Fio        string `json:"fio"`
	Device     string `json:"device,omitempty"` // "dm-3 (254:3)"
	Bytes      int64  `json:"bytes,omitempty"`
	Model      string `json:"model,omitempty"`
	Scheduler  string `json:"scheduler,omitempty"`
	Rotational string `json:"rotational,omitempty"`
	FileSystem string `json:"file_system,omitempty"`
	Table      string `json:"dm_table,omitempty"`
	Before     string `json:"dm_status_before,omitempty"`
	After      string `json:"dm_status_after,omitempty"`
	Load       string `json:"load_average,omitempty"`
}

// fill reads how full a dm-cache was from its status (Documentation/
// admin-guide/device-mapper/cache.rst): used and all blocks.
func fill(status string) (used, all int64, ok bool) {
	f := strings.Fields(status)
	if len(f) < 7 || f[2] != "cache" {
		return 0, 0, false
	}
	n, err := fmt.Sscanf(f[6], "%d/%d", &used, &all)
	return used, all, err == nil && n == 2 && all > 0
}
