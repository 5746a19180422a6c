package run

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"fettle/host"
	"fettle/host/capture"
	"fettle/host/format/openpgp"
	"fettle/host/redact"
	"fettle/internal/build"
	"fettle/internal/files"
)

// Recording tells a check run to write what was read to File.
type Recording struct {
	File string `json:"file"`          // absolute; beside it comes File + ".json", a Recorded
	Key  []byte `json:"key,omitempty"` // redact with this key
}

// Recorded is what a Recording was.
type Recorded struct {
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
func (r *Recording) start(src host.Source) (_ host.Source, done func() error) {
	if r == nil {
		return src, func() error { return nil }
	}
	rec := capture.NewRecorder(src)
	return rec, func() error { return r.write(rec.Capture()) }
}

// write writes the capture and its account. Where there is no room for the
// one, there is for the other once the first is gone.
func (r *Recording) write(c *capture.Capture) error {
	sum := Recorded{Name: c.Identity.Hostname}
	err := r.fill(c, &sum)
	if err != nil {
		os.Remove(r.File)
		sum = Recorded{Failed: files.WithoutPath(err).Error()}
	}
	b, jerr := json.Marshal(sum)
	if jerr == nil {
		jerr = os.WriteFile(r.File+".json", b, 0o600)
	}
	return errors.Join(err, jerr)
}

func (r *Recording) fill(c *capture.Capture, sum *Recorded) error {
	c.Fettle = build.Version()
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
		red.Disguise = openpgp.Disguise
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
