package guest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fettle/lab"
)

// daemons are the programs that a scenario has started to run on.
type daemons struct {
	mu   sync.Mutex
	gone []string
}

// ended tells which of them have ended, and how.
func (d *daemons) ended() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.gone, "; ")
}

// start starts a program in the background.
func (d *daemons) start(argv []string, mayEnd bool) error {
	bin, err := resolve(argv[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(bin, argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		err := cmd.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if !mayEnd {
			d.gone = append(d.gone, fmt.Sprintf("%s: %v", strings.Join(argv, " "), err))
		}
	}()
	return nil
}

// act does one Act of a scenario.
func (d *daemons) act(a lab.Act) error {
	switch {
	case a.Run != nil:
		out, code, err := run(a.Run, nil)
		if err == nil && code != 0 {
			err = fmt.Errorf("exit status %d: %s", code, lastLine(out))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(a.Run, " "), err)
		}
	case a.Start != nil:
		return d.start(a.Start, a.MayEnd)
	case a.Write != nil:
		if err := os.MkdirAll(filepath.Dir(a.Write.Path), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(a.Write.Mode)
		if mode == 0 {
			mode = 0o644
		}
		return os.WriteFile(a.Write.Path, []byte(a.Write.Content), mode)
	case a.Holds != nil:
		b, err := os.ReadFile(a.Holds.Path)
		if err == nil && string(b) != a.Holds.Content {
			err = fmt.Errorf("%s holds %q, and should hold %q", a.Holds.Path, b, a.Holds.Content)
		}
		return err
	case a.Until != nil:
		out := ""
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			o, code, err := run(a.Until, nil)
			if err == nil && code == 0 {
				return nil
			}
			out = o
		}
		return fmt.Errorf("%s: did not succeed within 20 s: %s", strings.Join(a.Until, " "), lastLine(out))
	case a.HoldDeleted != nil:
		return holdDeleted(a.HoldDeleted)
	}
	return nil
}

func holdDeleted(h *lab.Held) error {
	if err := os.MkdirAll(filepath.Dir(h.Path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(h.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := bytes.Repeat([]byte{'x'}, 1<<20)
	for left := h.Bytes; left > 0; left -= int64(len(buf)) {
		if _, err := f.Write(buf[:min(left, int64(len(buf)))]); err != nil {
			return err
		}
	}
	sleep, err := lab.FindTool("sleep")
	if err != nil {
		return err
	}
	cmd := exec.Command(sleep, "3600")
	cmd.Stdout = f
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.Remove(h.Path)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
