package rule

import (
	"fmt"
	"time"
)

// What expressions see of facts: the fields with a tag, by that name. A field
// that is a function is made when it is asked for; where it is nil, it is
// empty, and its error makes what asks for it unknown. A volatile one changes by
// itself and belongs in no summary.

// seen is the evidence of a fact: where it was read, and what it said.
type seen struct{ source, brief string }

func (s *seen) evidence() *seen { return s }

// evident is a fact with evidence: all but lists.
type evident interface{ evidence() *seen }

type hostFact struct {
	seen
	Name    string `cel:"name"`
	Kind    string `cel:"kind"`
	Running bool   `cel:"running"`
	Machine string `cel:"machine"`
	Root    bool   `cel:"root"`
	// Container is what keeps the container that the host is.
	Container func() (string, error) `cel:"container"`
}

type osFact struct {
	seen
	Exists    bool     `cel:"exists"`
	ID        string   `cel:"id"`
	VersionID string   `cel:"version_id"`
	Like      []string `cel:"like"`
	Codename  string   `cel:"codename"`
	Name      string   `cel:"name"`
	Pretty    string   `cel:"pretty"`
}

type fileFact struct {
	seen
	Exists bool                     `cel:"exists"`
	Path   string                   `cel:"path"`
	Text   string                   `cel:"text"`
	Value  string                   `cel:"value"`
	Lines  func() ([]string, error) `cel:"lines"`
	Int    func() (int64, error)    `cel:"int"`
}

// procfFact is a file that changes by itself.
type procfFact struct {
	seen
	Exists bool                     `cel:"exists"`
	Path   string                   `cel:"path"`
	Text   string                   `cel:"text,volatile"`
	Value  string                   `cel:"value,volatile"`
	Lines  func() ([]string, error) `cel:"lines,volatile"`
	Int    func() (int64, error)    `cel:"int,volatile"`
}

type kvFact struct {
	seen
	settings
	Exists bool                              `cel:"exists"`
	Values func() (map[string]string, error) `cel:"values"`
	Files  []string                          `cel:"files"`
}

type iniFact struct {
	seen
	settings
	Exists   bool                                         `cel:"exists"`
	Sections func() (map[string]map[string]string, error) `cel:"sections"`
	Files    []string                                     `cel:"files"`
}

type regexFact struct {
	seen
	Exists  bool                       `cel:"exists"`
	Found   bool                       `cel:"found"`
	First   func() (*matchFact, error) `cel:"first"`
	Matches []*matchFact               `cel:"matches"`
	Count   int                        `cel:"count,volatile"`
}

type matchFact struct {
	seen
	Path   string            `cel:"path"`
	Line   int               `cel:"line,volatile"`
	Text   string            `cel:"text"`
	Groups map[string]string `cel:"groups"`
}

type tableFact struct {
	seen
	Exists bool                `cel:"exists"`
	Rows   []map[string]string `cel:"rows,volatile"`
}

type dirFact struct {
	seen
	Exists bool     `cel:"exists"`
	Names  []string `cel:"names"`
	Count  int      `cel:"count,volatile"`
}

type statFact struct {
	seen
	Exists        bool                          `cel:"exists"`
	Path          string                        `cel:"path"`
	Type          string                        `cel:"type"`
	Mode          string                        `cel:"mode"`
	UID           uint32                        `cel:"uid"`
	GID           uint32                        `cel:"gid"`
	Owner         string                        `cel:"owner"`
	Size          int64                         `cel:"size,volatile"`
	Nlink         uint64                        `cel:"nlink"`
	MTime         func() (time.Time, error)     `cel:"mtime,volatile"`
	Age           func() (time.Duration, error) `cel:"age,volatile"`
	WorldWritable bool                          `cel:"world_writable"`
	GroupWritable bool                          `cel:"group_writable"`
}

type lockFact struct {
	seen
	Exists bool `cel:"exists"`
	Held   bool `cel:"held,volatile"`
	PID    int  `cel:"pid,volatile"`
}

type linkFact struct {
	seen
	Exists   bool                   `cel:"exists"`
	Target   string                 `cel:"target"`
	Resolved func() (string, error) `cel:"resolved"`
	Dangling func() (bool, error)   `cel:"dangling"`
}

type packageFact struct {
	seen
	Installed bool   `cel:"installed"`
	Name      string `cel:"name"`
	Version   string `cel:"version"`
	Status    string `cel:"status"`
	Manager   string `cel:"manager"`
	epochless bool   // the host's versions come without epochs
}

type kernelFact struct {
	seen
	Release      string `cel:"release"`
	Upstream     string `cel:"upstream"`
	Package      string `cel:"package"`
	Distribution string `cel:"distribution"`
}

type fixedFact struct {
	seen
	Installed bool                 `cel:"installed"`
	Name      string               `cel:"name"`
	Version   string               `cel:"version"`
	Bad       func() (bool, error) `cel:"bad"`
	FixedIn   string               `cel:"fixed_in"`
}

type unitFact struct {
	seen
	Exists    bool                   `cel:"exists"`
	Systemd   bool                   `cel:"systemd"`
	Name      string                 `cel:"name"`
	Load      string                 `cel:"load"`
	Active    string                 `cel:"active"`
	Sub       string                 `cel:"sub"`
	FileState func() (string, error) `cel:"file_state"`
	IsActive  bool                   `cel:"is_active"`
	IsEnabled func() (bool, error)   `cel:"is_enabled"`
	IsMasked  bool                   `cel:"is_masked"`
	IsFailed  bool                   `cel:"is_failed"`
}

type sysctlFact struct {
	seen
	Exists bool                  `cel:"exists"`
	Value  string                `cel:"value"`
	Int    func() (int64, error) `cel:"int"`
}

type confFact struct {
	seen
	Set    bool     `cel:"set"`
	Value  string   `cel:"value"`
	Where  string   `cel:"where"`
	Losers []string `cel:"losers"`
}

type processFact struct {
	seen
	Comm      string `cel:"comm"`
	PID       int    `cel:"pid,volatile"`
	UID       uint32 `cel:"uid"`
	Unit      string `cel:"unit"`
	Container string `cel:"container"`
}

type fsFact struct {
	seen
	Exists            bool     `cel:"exists"`
	Device            string   `cel:"device"`
	Mount             string   `cel:"mount"`
	Type              string   `cel:"type"`
	Options           []string `cel:"options"`
	Network           bool     `cel:"network"`
	Size              uint64   `cel:"size"`
	Free              uint64   `cel:"free,volatile"`
	Avail             uint64   `cel:"avail,volatile"`
	Files             uint64   `cel:"files,volatile"`
	FFree             uint64   `cel:"ffree,volatile"`
	UsedPercent       float64  `cel:"used_percent,volatile"`
	InodesUsedPercent float64  `cel:"inodes_used_percent,volatile"`
}

type arrayFact struct {
	seen
	Name       string `cel:"name"`
	Level      string `cel:"level"`
	Active     bool   `cel:"active"`
	Redundant  bool   `cel:"redundant"`
	Disks      int    `cel:"disks"`
	Missing    int    `cel:"missing"`
	Rebuilding bool   `cel:"rebuilding"`
}

type fstabFact struct {
	seen
	Device  string   `cel:"device"`
	Mount   string   `cel:"mount"`
	Type    string   `cel:"type"`
	Options []string `cel:"options"`
	Dump    int      `cel:"dump"`
	Pass    int      `cel:"pass"`
	Line    int      `cel:"line,volatile"`
}

type netlinkFact struct {
	seen
	Name      string   `cel:"name"`
	Kind      string   `cel:"kind"`
	MTU       int      `cel:"mtu"`
	Master    string   `cel:"master"`
	Parent    string   `cel:"parent"`
	Up        bool     `cel:"up"`
	External  bool     `cel:"external"`
	OperState string   `cel:"operstate"`
	Flags     []string `cel:"flags"`
	MAC       string   `cel:"mac"`
	Addresses []string `cel:"addresses"`
}

type cmdlineFact struct {
	seen
	settings
	Text   string            `cel:"text"`
	Args   []string          `cel:"args"`
	Values map[string]string `cel:"values"`
}

type moduleFact struct {
	seen
	Loaded     bool                              `cel:"loaded"`
	Parameters func() (map[string]string, error) `cel:"parameters"`
}

type memoryFact struct {
	seen
	Total     func() (int64, error) `cel:"total"`
	Available func() (int64, error) `cel:"available,volatile"`
	SwapTotal func() (int64, error) `cel:"swap_total"`
	SwapFree  func() (int64, error) `cel:"swap_free,volatile"`
	Fields    map[string]int64      `cel:"fields,volatile"`
}

type certFact struct {
	seen
	Path       string        `cel:"path"`
	Number     int           `cel:"number"`
	Subject    string        `cel:"subject"`
	Issuer     string        `cel:"issuer"`
	Names      []string      `cel:"names"`
	NotBefore  time.Time     `cel:"not_before"`
	NotAfter   time.Time     `cel:"not_after"`
	Left       time.Duration `cel:"left,volatile"`
	Expired    bool          `cel:"expired"`
	IsCA       bool          `cel:"is_ca"`
	SelfSigned bool          `cel:"self_signed"`
	Signature  string        `cel:"signature"`
}

type logFact struct {
	seen
	Looked bool   `cel:"looked"`
	Found  bool   `cel:"found"`
	Count  int    `cel:"count,volatile"`
	First  string `cel:"first,volatile"`
	Last   string `cel:"last,volatile"`
}

type userFact struct {
	seen
	Name  string `cel:"name"`
	UID   uint32 `cel:"uid"`
	GID   uint32 `cel:"gid"`
	Home  string `cel:"home"`
	Shell string `cel:"shell"`
}

type commandFact struct {
	seen
	Exit   int                      `cel:"exit"`
	Stdout string                   `cel:"stdout,volatile"`
	Stderr string                   `cel:"stderr,volatile"`
	Lines  func() ([]string, error) `cel:"lines,volatile"`
}

// noValue is a field that there is none of.
func noValue[T any](format string, args ...any) func() (T, error) {
	return func() (v T, err error) { return v, fmt.Errorf(format, args...) }
}

// value is a field that is known.
func value[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }
