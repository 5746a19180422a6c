package serialname

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/format/ini"
	"fettle/internal/sorted"
)

// Profile is how to recognise what is at the other end of a serial line.
type Profile struct {
	Name  string // of its file
	About string
	Speed []int // baud, tried in this order; 8 data bits, no parity, 1 stop bit
	// Send are requests, each sent once at each speed. None: the probe only
	// listens, and never writes.
	Send   [][]byte
	Listen time.Duration // for an answer, after opening and after each request
	Expect *regexp.Regexp
	Sum    string // a checksum that what matched must have, or none

}

// Writes tells whether the profile sends anything.
func (p *Profile) Writes() bool { return len(p.Send) > 0 }

// Limit is how long a probe takes at most.
func (p *Profile) Limit() time.Duration {
	return time.Duration(len(p.Speed)*max(1, len(p.Send)))*p.Listen + time.Second
}

//go:embed profiles/*.profile
var shipped embed.FS

// Folder is where an admin's own profiles are.
const Folder = "/etc/fettle/serial"

// maxProfileLimit bounds how long a profile may take: udev ends a program that
// takes longer than three minutes, and whatever waits for udev waits that long.
const maxProfileLimit = 30 * time.Second

// Profiles are the shipped ones and the host's own in Folder, by name; an own
// one hides a shipped one of the same name. A broken file is an error of its
// own; the others are there nevertheless.
func Profiles(ctx context.Context, h *host.Host) ([]Profile, error) {
	have := map[string]Profile{}
	es, err := shipped.ReadDir("profiles")
	if err != nil {
		return nil, err
	}
	for _, e := range es {
		b, err := fs.ReadFile(shipped, "profiles/"+e.Name())
		if err != nil {
			return nil, err
		}
		p, err := ParseProfile(e.Name(), b)
		if err != nil {
			return nil, err
		}
		have[p.Name] = p
	}
	var errs []error
	own, err := h.Glob(ctx, Folder, "*.profile")
	errs = append(errs, err)
	for _, name := range own {
		p, err := ownProfile(ctx, h, name)
		if errs = append(errs, err); err == nil {
			have[p.Name] = p
		}
	}
	var out []Profile
	for _, p := range have {
		out = append(out, p)
	}
	sorted.By(out, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(errs...)
}

// ownProfile reads an admin's profile. udev has root read it, so nobody else may
// be able to write it.
func ownProfile(ctx context.Context, h *host.Host, name string) (Profile, error) {
	for _, at := range []string{Folder, name} {
		st, err := h.Stat(ctx, at)
		if err != nil {
			return Profile{}, err
		}
		if st.UID != 0 || st.Mode.Perm()&0o022 != 0 {
			return Profile{}, fmt.Errorf("%s is ignored: it must belong to root, and only root may be able to write it", at)
		}
	}
	b, err := h.ReadFile(ctx, name)
	if err != nil {
		return Profile{}, err
	}
	return ParseProfile(name, b)
}

// ParseProfile reads a profile's text; its file names it.
func ParseProfile(file string, text []byte) (Profile, error) {
	p := Profile{Name: strings.TrimSuffix(path.Base(file), ".profile")}
	if !plainArg().MatchString(p.Name) || strings.ContainsAny(p.Name, "/,=") {
		return p, fmt.Errorf("%s: a profile's name has letters, digits, _, - and . only", file)
	}
	f := ini.Parse(ini.Keyfile, file, text)
	if len(f.Errs) > 0 {
		return p, f.Errs[0]
	}
	for _, e := range f.Entries {
		if err := p.set(e); err != nil {
			return p, &host.SyntaxError{Path: file, Line: e.Line, Msg: err.Error()}
		}
	}
	switch {
	case p.About == "" || len(p.Speed) == 0 || p.Listen == 0 || p.Expect == nil:
		return p, fmt.Errorf("%s: a profile needs About, Speed, Listen and Expect", file)
	case p.Limit() > maxProfileLimit:
		return p, fmt.Errorf("%s: a probe by it would take up to %s: expected %s at most, for udev waits", file, p.Limit(), maxProfileLimit)
	}
	return p, nil
}

func (p *Profile) set(e ini.Entry) (err error) {
	if e.Section != "Profile" {
		return fmt.Errorf("[%s]: the one section is [Profile]", e.Section)
	}
	switch e.Key {
	case "About":
		p.About = e.Value
	case "Speed":
		for s := range strings.FieldsSeq(e.Value) {
			n, err := strconv.Atoi(s)
			if err != nil || !slices.Contains(Speeds(), n) {
				return fmt.Errorf("Speed=%s: not a usual rate in baud (300 to 921600)", s)
			}
			p.Speed = append(p.Speed, n)
		}
	case "Send":
		s, err := strconv.Unquote(e.Value)
		if err != nil || s == "" || len(s) > 256 {
			return fmt.Errorf(`Send=%s: expected 1 to 256 bytes in double quotes, with \r, \n and \xNN`, e.Value)
		}
		p.Send = append(p.Send, []byte(s))
	case "Listen":
		if p.Listen, err = time.ParseDuration(e.Value); err != nil || p.Listen < 50*time.Millisecond || p.Listen > maxProfileLimit {
			return fmt.Errorf("Listen=%s: expected a time like 500ms or 2s, up to 30s", e.Value)
		}
	case "Expect":
		return p.SetExpect(e.Value)
	case "Sum":
		if _, ok := sums[e.Value]; !ok {
			return fmt.Errorf("Sum=%s: expected nmea, modbus or xmodem", e.Value)
		}
		p.Sum = e.Value
	default:
		return fmt.Errorf("%s: expected About, Speed, Send, Listen, Expect or Sum", e.Key)
	}
	return nil
}

// SetExpect sets what the device must say: a regular expression (RE2) over
// bytes, of which each is one character, and a dot is any.
func (p *Profile) SetExpect(expr string) error {
	if len(expr) > 1000 {
		return errors.New("Expect: more than 1000 characters")
	}
	re, err := regexp.Compile("(?s)" + expr)
	if err != nil {
		return fmt.Errorf("Expect=%s: %w", expr, err)
	}
	if re.MatchString("") {
		return fmt.Errorf("Expect=%s matches silence, and so every device", expr)
	}
	p.Expect = re
	return nil
}

// Recognise looks for what the profile expects in bytes that were read, and
// returns it.
func (p *Profile) Recognise(b []byte) ([]byte, bool) {
	text := latin1(b)
	for _, at := range p.Expect.FindAllStringIndex(text, 20) {
		found := bytesOf(text[at[0]:at[1]])
		if p.Sum == "" || sums[p.Sum](found) {
			return found, true
		}
	}
	return nil, false
}

// latin1 makes each byte one character, so that expressions speak of bytes.
func latin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

func bytesOf(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, byte(r))
	}
	return out
}
