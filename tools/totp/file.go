package totp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// FileName is the file's name in a user's home.
const FileName = ".google_authenticator"

// MaxFile is the most that the module reads, in bytes.
const MaxFile = 64 << 10

// File is what pam_google_authenticator keeps of a user: the secret in the
// first line, options (lines of `" NAME VALUE`), scratch codes of 8 digits.
type File struct {
	Secret  Secret
	Options []Option // in order
	Scratch []string
}

// Option is one line `" NAME VALUE`.
type Option struct{ Name, Value string }

// Settings are what New may be told.
type Settings struct {
	Window    int  // WINDOW_SIZE: codes that are taken at a time; 0 is the module's 3
	Reuse     bool // a code may be used again
	NoLimit   bool // no RATE_LIMIT: as many attempts as somebody likes
	StepSize  int  // STEP_SIZE in seconds; 0 is 30
	NoScratch bool
}

// scratchCodes is how many New makes, as google-authenticator does.
const scratchCodes = 5

// New is the file for a secret.
func New(s Secret, set Settings) (*File, error) {
	f := &File{Secret: s}
	add := func(name, value string) { f.Options = append(f.Options, Option{name, value}) }
	if !set.NoLimit {
		add("RATE_LIMIT", "3 30")
	}
	if set.Window < 0 || set.Window > 100 {
		return nil, fmt.Errorf("a window of %d codes: the module takes 1 to 100", set.Window)
	}
	if set.Window > 0 {
		add("WINDOW_SIZE", strconv.Itoa(set.Window))
	}
	if set.StepSize != 0 && set.StepSize != Step {
		if set.StepSize < 1 || set.StepSize > 60 {
			return nil, fmt.Errorf("codes of %d s: the module takes 1 to 60", set.StepSize)
		}
		add("STEP_SIZE", strconv.Itoa(set.StepSize))
	}
	if !set.Reuse {
		add("DISALLOW_REUSE", "")
	}
	add("TOTP_AUTH", "")
	if set.NoScratch {
		return f, nil
	}
	for len(f.Scratch) < scratchCodes {
		n, err := rand.Int(rand.Reader, big.NewInt(90_000_000))
		if err != nil {
			return nil, fmt.Errorf("making a scratch code: %w", err)
		}
		f.Scratch = append(f.Scratch, strconv.FormatInt(n.Int64()+10_000_000, 10))
	}
	return f, nil
}

// Bytes is the file as the module reads it.
func (f *File) Bytes() []byte {
	var b strings.Builder
	b.WriteString(f.Secret.Base32() + "\n")
	for _, o := range f.Options {
		b.WriteString(`" ` + o.Name)
		if o.Value != "" {
			b.WriteString(" " + o.Value)
		}
		b.WriteByte('\n')
	}
	for _, s := range f.Scratch {
		b.WriteString(s + "\n")
	}
	return []byte(b.String())
}

// Option is the value of an option; the first line of it counts.
func (f *File) Option(name string) (value string, ok bool) {
	for _, o := range f.Options {
		if o.Name == name {
			return o.Value, true
		}
	}
	return "", false
}

// StepSize is how long a code is valid, in seconds.
func (f *File) StepSize() int { return f.number("STEP_SIZE", Step) }

// Window is how many codes are taken at a time.
func (f *File) Window() int { return f.number("WINDOW_SIZE", 3) }

// Skew is how many steps ahead the module takes the user's clock to be.
func (f *File) Skew() int { return f.number("TIME_SKEW", 0) }

func (f *File) number(option string, def int) int {
	v, ok := f.Option(option)
	if n, err := strconv.Atoi(strings.TrimSpace(v)); ok && err == nil {
		return n
	}
	return def
}

// Takes tells whether the module would take a code that is skew steps ahead of
// the clock (check_timebased_code).
func (f *File) Takes(skew int) bool {
	w := f.Window()
	skew -= f.Skew()
	return skew >= -((w-1)/2) && skew <= w/2
}

// Counter tells whether the codes follow a counter (HOTP) and not the clock.
func (f *File) Counter() bool {
	n, err := strconv.ParseInt(f.value("HOTP_COUNTER"), 10, 64)
	return err == nil && n > 0
}

func (f *File) value(option string) string {
	v, _ := f.Option(option)
	return strings.TrimSpace(v)
}

// Parse reads a file. Its errors name the line and never its content.
func Parse(b []byte) (*File, error) {
	if len(b) == 0 || len(b) > MaxFile {
		return nil, fmt.Errorf("it has %d bytes; the module reads 1 to %d", len(b), MaxFile)
	}
	if strings.IndexByte(string(b), 0) >= 0 {
		return nil, errors.New("it holds a zero byte, and the module refuses it")
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	f := &File{}
	var err error
	if f.Secret, err = ParseSecret(first); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	n, scratch := 1, true
	for line := range strings.Lines(rest) {
		n++
		line = strings.TrimRight(line, "\r\n")
		opt, is := strings.CutPrefix(line, `" `)
		switch {
		case line == "":
		case is:
			name, value, _ := strings.Cut(opt, " ")
			if err := check(name, value); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			f.Options = append(f.Options, Option{name, value})
		case len(line) == 8 && strings.Trim(line, "0123456789") == "" && line[0] != '0':
			if scratch {
				f.Scratch = append(f.Scratch, line)
			}
		default:
			scratch = false // the module looks for scratch codes no further
		}
	}
	_, totp := f.Option("TOTP_AUTH")
	if !totp && !f.Counter() {
		return nil, errors.New(`neither " TOTP_AUTH nor " HOTP_COUNTER is in it: only scratch codes would be taken`)
	}
	return f, nil
}

// check refuses the values that make the module refuse every code.
func check(name, value string) error {
	f := strings.Fields(value)
	in := func(i, lo, hi int) bool {
		if i >= len(f) {
			return false
		}
		n, err := strconv.Atoi(f[i])
		return err == nil && n >= lo && n <= hi
	}
	switch {
	case name == "STEP_SIZE" && !in(0, 1, 60):
		return errors.New("STEP_SIZE must be 1 to 60")
	case name == "WINDOW_SIZE" && !in(0, 1, 100):
		return errors.New("WINDOW_SIZE must be 1 to 100")
	case name == "RATE_LIMIT" && (!in(0, 1, 100) || !in(1, 1, 3600)):
		return errors.New("RATE_LIMIT must be 1 to 100 attempts in 1 to 3600 seconds")
	}
	return nil
}
