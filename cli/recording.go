package cli

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"fettle/host"
	"fettle/host/capture"
	"fettle/host/redact"
)

// recording tells a check run to write what was read to File.
type recording struct {
	File string `json:"file"`          // absolute; beside it comes File + ".json", a recorded
	Key  []byte `json:"key,omitempty"` // redact with this key
}

// recorded is what a recording was.
type recorded struct {
	Name    string   `json:"name"` // of the host, redacted if the capture is
	Answers int      `json:"answers"`
	Unread  []string `json:"unread"`  // what could not be read, with reasons
	Denied  bool     `json:"denied"`  // some of it for lack of permission
	Dropped []string `json:"dropped"` // what redaction left out
	Failed  string   `json:"failed"`  // why there is no capture
}

// start puts a recorder around src; done writes the file. The path of a
// capture below its own root is no business of the host's, so both belong to
// the process that runs the checks.
func (r *recording) start(src host.Source) (_ host.Source, done func() error) {
	if r == nil {
		return src, func() error { return nil }
	}
	rec := capture.NewRecorder(src)
	return rec, func() error { return r.write(rec.Capture()) }
}

// write writes the capture and its account. Where there is no room for the
// one, there is for the other once the first is gone.
func (r *recording) write(c *capture.Capture) error {
	sum := recorded{Name: c.Identity.Hostname}
	err := r.fill(c, &sum)
	if err != nil {
		os.Remove(r.File)
		sum = recorded{Failed: bare(err).Error()}
	}
	b, jerr := json.Marshal(sum)
	if jerr == nil {
		jerr = os.WriteFile(r.File+".json", b, 0o600)
	}
	return errors.Join(err, jerr)
}

func (r *recording) fill(c *capture.Capture, sum *recorded) error {
	c.Fettle = Version()
	for _, u := range c.Unread() {
		why := u.Err
		var pe *fs.PathError
		if errors.As(why, &pe) { // the path is said already
			why = pe.Err
		}
		reason := host.Reason(why)
		if errors.Is(why, host.ErrDenied) {
			sum.Denied, reason = true, "needs root"
		}
		sum.Unread = append(sum.Unread, u.What+": "+reason)
	}
	if r.Key != nil {
		red, err := redact.New(r.Key)
		if err != nil {
			return err
		}
		if sum.Dropped, err = c.Redact(red); err != nil {
			return err
		}
		sum.Name = c.Identity.Hostname
	}
	sum.Answers = len(c.Answers)
	f, err := os.OpenFile(r.File, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := c.Write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// redactKey reads the key from a file, in hexadecimal; makes both if the file
// is absent. Without a file the key is random and forgotten.
func redactKey(file string) ([]byte, error) {
	key := make([]byte, 32)
	rand.Read(key)
	if file == "" {
		return key, nil
	}
	b, err := readFileAtMost(file, 4096)
	if err == nil {
		key, err := hex.DecodeString(strings.TrimSpace(string(b)))
		if err != nil || len(key) < 16 {
			return nil, usagef("--redact-key %s: not a key: at least 32 hexadecimal digits are needed", file)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--redact-key: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, usagef("--redact-key: %w", err)
	}
	if _, err = fmt.Fprintln(f, hex.EncodeToString(key)); err == nil {
		err = f.Close()
	}
	if err != nil {
		os.Remove(file) // half a key would be refused next time
		return nil, failf("--redact-key: %w", err)
	}
	return key, nil
}
