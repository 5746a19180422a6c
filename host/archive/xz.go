package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

const xzMagic = "\xfd7zXZ\x00"

// xzPrograms are tried in order. The xz program unpacks several times faster
// than Go code does; where it is missing, xzReader does the work.
var xzPrograms = []string{"/usr/bin/xz", "/bin/xz"}

func openXZ(ctx context.Context, f *os.File, lim Limits) (io.ReadCloser, error) {
	for _, p := range xzPrograms {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return startXZ(ctx, p, f, lim)
		}
	}
	return newXZReader(f, lim.Window)
}

// xzProcess is a running xz program whose output is read.
type xzProcess struct {
	io.ReadCloser
	cmd    *exec.Cmd
	stderr bytes.Buffer
	cancel context.CancelFunc
	ended  bool
	status error
}

// startXZ hands f itself to the program: its memory is bounded by the program.
func startXZ(ctx context.Context, bin string, f *os.File, lim Limits) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	// The program needs the dictionary and about 1 MiB besides (xz(1), -9).
	mem := strconv.FormatInt(lim.Window>>20+4, 10) + "MiB"
	x := &xzProcess{cmd: exec.CommandContext(ctx, bin, "--decompress", "--stdout", "--quiet", "--threads=1",
		"--memlimit-decompress="+mem), cancel: cancel}
	x.cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"} // XZ_OPT and XZ_DEFAULTS of the user stay out
	x.cmd.Stdin, x.cmd.Stderr, x.cmd.Dir = f, &x.stderr, "/"
	out, err := x.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	x.ReadCloser = out
	if err := x.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return x, nil
}

func (x *xzProcess) Read(p []byte) (int, error) {
	n, err := x.ReadCloser.Read(p)
	if n > 0 || err == nil {
		return n, nil
	}
	if werr := x.wait(); werr != nil {
		return 0, werr
	}
	return 0, err
}

func (x *xzProcess) wait() error {
	if x.ended {
		return x.status
	}
	x.ended = true
	err := x.cmd.Wait()
	// "xz: (stdin): Unexpected end of input"
	said, _, _ := strings.Cut(strings.TrimSpace(x.stderr.String()), "\n")
	said = said[strings.LastIndex(said, ": ")+1:]
	var ee *exec.ExitError
	switch {
	case err == nil:
	case strings.Contains(said, "Unexpected end of input"):
		x.status = io.ErrUnexpectedEOF
	case strings.Contains(said, "Memory usage limit"):
		x.status = errDictionary
	case errors.As(err, &ee) && said != "":
		x.status = fmt.Errorf("xz: %s", strings.TrimSpace(said))
	default:
		x.status = fmt.Errorf("running xz: %w", err)
	}
	return x.status
}

func (x *xzProcess) Close() error {
	x.cancel()
	x.ReadCloser.Close()
	x.wait()
	return nil
}

var errDictionary = errors.New("was packed with a larger dictionary than fettle gives memory for: refused")
